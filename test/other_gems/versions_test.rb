# frozen_string_literal: true
# suites: store

require "test_helper"
require "open3"
require "tiercel/lab/servers"

# Separate processes in which RubyGems reports other versions as loaded.
class VersionsOfOtherGemsTest < Tiercel::TestCase
  Servers = Tiercel::Lab::Servers

  # @return [Array(String, String)] output and warnings of a process
  def run_with(versions, script, environment = {})
    pretend = 'Spec = Struct.new(:version, :name); require "tiercel"; ' + versions.map do |name, version|
      "Gem.loaded_specs[#{name.inspect}] = Spec.new(Gem::Version.new(#{version.inspect})); "
    end.join
    output, errors, status = Open3.capture3(environment, RbConfig.ruby, "-Ilib", "-rbundler/setup", "-e",
                                            pretend + script)
    assert status.success?, errors
    [output, errors]
  end

  { "redis-client" => ["0.27.0", "redis://127.0.0.1"],
    "connection_pool" => ["2.3.0", "redis://127.0.0.1"], "sqlite3" => ["2.0.4", "sqlite:x"],
    "redis-cluster-client" => ["0.16.7", "redis+cluster://127.0.0.1:1"] }.each do |name, (version, url)|
    define_method(:"test_#{name}_below_its_oldest") do
      built = "Tiercel.new(#{url.inspect})"
      output, = run_with({ name => version },
                         "2.times { begin; #{built}; rescue Tiercel::MissingDependency => e; puts e.message; end }")
      line = "#{name} #{version} is too old: Tiercel needs #{Tiercel::OptionalGems::OLDEST.fetch(name)} or later. " \
             "In the Gemfile: #{Tiercel::OptionalGems.line(name)}, then: bundle update #{name}\n"
      assert_equal line * 2, output
    end
  end

  def test_a_cluster_without_its_gem
    output, = run_with({}, <<~'RUBY')
      Object.define_method(:require) { |name| name == "redis-cluster-client" ? raise(LoadError, name) : super(name) }
      begin
        Tiercel.new("redis+cluster://127.0.0.1:1")
      rescue Tiercel::MissingDependency => error
        puts error.message
      end
    RUBY
    assert_match(/needs the gem redis-cluster-client .*: gem "redis-cluster-client", ">= 0\.17"\n\z/, output)
  end

  # The extension implements LZ4 itself.
  PURE_RUBY = { "TIERCEL_PURE_RUBY" => "1" }.freeze

  { "lz4_flex" => ["0.9.0", :lz4], "zstd-ruby" => ["1.5.6", :zstd], "snappy" => ["0.3.0", :snappy],
    "brotli" => ["0.8.0", :brotli] }.each do |gem, (version, name)|
    define_method(:"test_#{gem}_below_its_oldest") do
      output, = run_with({ gem => version }, <<~RUBY, PURE_RUBY)
        puts Tiercel::Compressors.default
        begin
          Tiercel.new("memory:", compressor: #{name.inspect})
        rescue Tiercel::MissingDependency => e
          puts e.message
        end
      RUBY
      assert_match(/\A#{gem == "lz4_flex" ? "zlib" : "lz4"}\n#{gem} #{version} is too old: .* bundle update #{gem}\n\z/,
                   output)
    end
  end

  USE = <<~'RUBY'
    stores = Array.new(2) { Tiercel.new(ARGV_URL, ssl_params: SSL) }
    stores.each do |store|
      store.write("key", "value") && store.increment("counter")
      puts store.read("key"), store.read_multi("key", "absent"), store.delete_multi(%w[key counter])
    end
    puts Tiercel::Backends::Redis::Deadline.driver(:ruby).ancestors.include?(Tiercel::Backends::Redis::Deadline::Driver)
  RUBY

  def use(url, ssl = nil) = USE.sub("ARGV_URL", url.inspect).sub("SSL", ssl.inspect)

  # The gems stay unchanged; timeouts then limit each wait, but not the whole call.
  def test_newer_than_tested
    versions = { "redis-client" => "0.999.0", "redis-cluster-client" => "0.999.0" }
    used = "value\n{\"key\"=>\"value\"}\n2\n" * 2
    Servers::Redis.run do |server|
      output, errors = run_with(versions, use(server.url))
      assert_equal ["#{used}false\n", 1], [output, errors.lines.size], errors
      assert_match(/\ATiercel: redis-client 0\.999\.0 is newer than the tested version \(0\.\d+\): time/, errors)
    end
    Servers::Redis.run(tls: true) do |server|
      assert_equal "#{used}false\n", run_with(versions, use(server.url, { ca_file: server.certificate.file })).first
    end
    Servers::RedisCluster.run do |cluster|
      output, errors = run_with(versions, use(cluster.url))
      assert_equal ["#{used}false\n", 2], [output, errors.lines.size], errors
    end
  end
end
