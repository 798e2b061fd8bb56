# frozen_string_literal: true
# suites: insight

require_relative "doctor_case"

# The doctor finds nothing in the configurations that the README recommends.
class DoctorReadmeTest < DoctorCase
  README = File.expand_path("../../../README.md", __dir__)
  PUMA = { "config/puma.rb" => "workers ENV.fetch(\"WEB_CONCURRENCY\", 2)\n" }.freeze

  # Records the lines of a configuration.
  class Configuration
    attr_reader :cache_store

    def cache_store=(arguments)
      @cache_store = Array(arguments)
    end
  end

  def test_every_configuration_line
    lines = File.read(README).scan(/^(?:# )?(config\.cache_store = .*|cache = Tiercel\.new\(.*)$/).flatten
    assert_operator lines.size, :>=, 5
    Tiercel::Lab::Servers::Redis.run do |redis|
      redis.command("CONFIG", "SET", "maxmemory", "100mb")
      redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
      Tiercel::Lab::Servers::Memcached.run do |memcached|
        lines.each { |line| assert_sound(line, redis, memcached) }
      end
    end
  end

  private

  def assert_sound(line, redis, memcached)
    deployed(PUMA) do |at, root|
      Dir.chdir(root) do
        Dir.mkdir("storage")
        store = build(line, redis, memcached)
        report = examine(store, deployment: at)
        assert_predicate report, :sound?, "#{line}\n#{report.to_text}"
        assert_operator report.findings.count { |finding| finding.status == :sound }, :>=, 3, line
      ensure
        store&.close
      end
    end
  end

  # An application's segment is in /dev/shm and its servers on other hosts; here all are local to the test.
  def build(line, redis, memcached)
    line = line.gsub(/"redis:[^"]*"/, "#{redis.url}?timeout=20".inspect)
               .gsub(/"memcached:[^"]*"/, "#{memcached.url}?timeout=20".inspect)
               .gsub('"shared:my-app"', '"shared:./segment"')
               .gsub('"shared:"', '"shared:./segment"').sub(/:tiercel_store(?=\s*(#|\z))/, '\0, "shared:./segment"')
               .gsub(/"(1|10)GB"/, '"64MB"')
    config = Configuration.new
    built = binding.eval(line)
    line.start_with?("config") ? ActiveSupport::Cache.lookup_store(*config.cache_store) : built
  end
end
