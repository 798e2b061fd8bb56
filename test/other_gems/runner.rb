# frozen_string_literal: true

require "fileutils"
require "json"
require "open3"
require "tiercel/lab/servers"

# Runs the suites of test/other_gems/suites.rb: each with its own store as the control, then with Tiercel.
class OtherGems
  Suite = Struct.new(:name, :repository, :gems, :in_place_of, :tests, :runs, :database, :control, :expected) do
    def why(failure) = expected.to_h.find { |pattern, _| pattern.match?(failure) }&.last
  end
  HERE = __dir__
  ROOT = File.expand_path("../..", __dir__)
  PLACES = ["memory:", "shared:", "memcached:", "redis:", "shared: redis:"].freeze
  SECONDS = 300
  private_constant :HERE, :ROOT, :SECONDS

  # @param sources [String] a folder of checkouts or bare repositories with the names of the gems; missing ones are
  #   cloned into it
  # @param only [Regexp] names of suites
  def initialize(sources, only: //, places: PLACES, out: $stdout)
    @sources = sources
    @places = places
    @out = out
    @suites = []
    instance_eval(File.read("#{HERE}/suites.rb"), "#{HERE}/suites.rb")
    @suites.select! { |suite| suite.name.match?(only) }
    out.sync = true
  end

  # @return [Array<String>] failures that the control does not have and the table does not explain
  def run
    with_servers { @suites.flat_map { |suite| compare(suite) } }
  end

  private

  def suite(name, repository, **settings) = @suites << Suite.new(name:, repository:, **settings)

  def compare(suite)
    folder, commit = checkout(suite)
    problem = install(suite, folder)
    return ["#{suite.name}: #{problem}"].each { |line| @out.puts line } if problem
    control, count = failures(suite, folder, [*suite.control])
    @out.puts "#{suite.name} #{commit}: #{count} tests, with #{suite.control || suite.in_place_of.first}: " \
              "#{control.size} failed"
    control.each { |test, message| @out.puts line(test, message) } if count.zero?
    @places.flat_map do |place|
      failed, count = failures(suite, folder, place.split)
      ours = failed.except(*control.keys)
      @out.puts "  #{place.ljust(15)} #{count} tests: #{failed.size} failed, #{ours.size} of them here alone, " \
                "#{(control.keys - failed.keys).size} of the control's passed"
      ours.first(20).each { |test, message| @out.puts line(test, suite.why(test) || message) }
      ours.keys.reject { |test| suite.why(test) }.map { |test| "#{suite.name} on #{place}: #{test}" }
    end
  end

  def line(test, message) = "    #{test}: #{message.to_s.split.join(" ")[0, 300]}"

  # @return [Hash{String => String}, Integer] messages by failed test; the number of tests
  def failures(suite, folder, place)
    result = File.join(folder, "tiercel-result.json")
    FileUtils.rm_f([result, "#{result}.stores"])
    @redis.command("FLUSHALL")
    servers = { "redis:" => @redis, "memcached:" => @memcached }
    urls = place.map { |url| servers.key?(url) ? "#{servers[url].url}?timeout=5" : url }
    environment = { **bundle(folder), "TIERCEL_URLS" => urls.join(" "), "TIERCEL_RESULT" => result, "CI" => "true",
                    "TIERCEL_IN_PLACE_OF" => suite.in_place_of.join(" "), "TIERCEL_RUNS" => suite.runs.to_s,
                    "MEMCACHED_HOST" => @memcached.host, "MEMCACHED_PORT" => @memcached.port.to_s,
                    "DB" => "postgresql", "PGPORT" => @postgres&.port.to_s }
    out, = Open3.capture2e(environment, "timeout", SECONDS.to_s, *command(suite, folder, result), chdir: folder)
    examples = File.size?(result) ? JSON.parse(File.read(result)).fetch("examples") : []
    return [{ "the suite did not run" => out[-2_000..] || out }, 0] if examples.empty?
    unused = place.any? && place != [suite.control] && !File.exist?("#{result}.stores")
    return [{ "the suite built no store" => "" }, examples.size] if unused
    failed = examples.select { |example| example["status"] == "failed" }
    [failed.to_h { |example| [example["full_description"], example.dig("exception", "message")] }, examples.size]
  end

  def command(suite, folder, result)
    files = suite.tests.flat_map { |glob| Dir.glob(glob, base: folder) }.sort
    paths = %w[lib test spec .].flat_map { |path| ["-I", path] }
    ruby = [RbConfig.ruby, "-W0", "-rbundler/setup", *paths, "-I", "#{ROOT}/lib", "-r", "#{HERE}/mount", "-e"]
    if suite.runs == :rspec
      rspec = 'require "rspec/core"; exit RSpec::Core::Runner.run(ARGV)'
      return [*ruby, rspec, "--", "--format", "json", "--out", result, *files]
    end
    [*ruby, "ARGV.shift(#{files.size}).each { |file| require File.expand_path(file) }", "--", *files]
  end

  # @return [String, String] a folder with the files of the newest commit; the commit
  def checkout(suite)
    source = File.join(@sources, suite.name)
    unless File.exist?(source)
      address = "https://github.com/#{suite.repository}"
      system("git", "clone", "--quiet", "--depth", "1", address, source, exception: true)
    end
    commit, = Open3.capture2("git", "-C", source, "rev-parse", "--short", "HEAD")
    folder = File.join(ROOT, "tmp/other_gems", suite.name)
    FileUtils.rm_rf(folder)
    FileUtils.mkdir_p([folder, "#{folder}/log", "#{folder}/tmp"])
    Open3.pipeline(["git", "-C", source, "archive", "HEAD"], ["tar", "-x", "-C", folder])
    [folder, commit.strip]
  end

  def install(suite, folder)
    File.write("#{folder}/tiercel.gemfile", <<~GEMFILE)
      Gem.sources.each { |registry| source registry }
      gem "#{suite.runs}"#{', "~> 5.25"' if suite.runs == :minitest}
      gem "rake"
      #{suite.gems}
    GEMFILE
    return if system(bundle(folder), RbConfig.ruby, "-S", "bundle", "check", out: File::NULL, err: File::NULL)
    out, status = Open3.capture2e(bundle(folder), RbConfig.ruby, "-S", "bundle", "install", "--quiet")
    "its gems could not be installed: #{out}" unless status.success?
  end

  def bundle(folder)
    { "BUNDLE_GEMFILE" => "#{folder}/tiercel.gemfile", "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLER_SETUP" => nil }
  end

  def with_servers
    @redis = Tiercel::Lab::Servers::Redis.new.start
    @memcached = Tiercel::Lab::Servers::Memcached.new.start
    if (name = @suites.filter_map(&:database).first)
      @postgres = Tiercel::Lab::Servers::PostgreSQL.new.start
      system("psql", "--quiet", "-c", "CREATE DATABASE #{name}", @postgres.url, exception: true)
    end
    yield
  ensure
    [@redis, @memcached, @postgres].compact.each(&:stop)
  end
end
