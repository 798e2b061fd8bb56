# frozen_string_literal: true
# suites: store

require "test_helper"
require "open3"

# Separate processes in which RubyGems reports other versions as loaded.
class VersionsOfOtherGemsTest < Tiercel::TestCase
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

  { "sqlite3" => ["2.0.4", "sqlite:x"] }.each do |name, (version, url)|
    define_method(:"test_#{name}_below_its_oldest") do
      built = "Tiercel.new(#{url.inspect})"
      output, = run_with({ name => version },
                         "2.times { begin; #{built}; rescue Tiercel::MissingDependency => e; puts e.message; end }")
      line = "#{name} #{version} is too old: Tiercel needs #{Tiercel::OptionalGems::OLDEST.fetch(name)} or later. " \
             "In the Gemfile: #{Tiercel::OptionalGems.line(name)}, then: bundle update #{name}\n"
      assert_equal line * 2, output
    end
  end

  { "zstd-ruby" => ["1.5.6", :zstd], "snappy" => ["0.3.0", :snappy],
    "brotli" => ["0.8.0", :brotli] }.each do |gem, (version, name)|
    define_method(:"test_#{gem}_below_its_oldest") do
      output, = run_with({ gem => version }, <<~RUBY)
        puts Tiercel::Compressors.default
        begin
          Tiercel.new("memory:", compressor: #{name.inspect})
        rescue Tiercel::MissingDependency => e
          puts e.message
        end
      RUBY
      assert_match(/\Alz4\n#{gem} #{version} is too old: .* bundle update #{gem}\n\z/,
                   output)
    end
  end
end
