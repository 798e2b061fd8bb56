# frozen_string_literal: true

require "fileutils"
require "open3"
require "tmpdir"

# A small gem in a repository of its own, with benchmarks for a gate.
class SmallGem
  LIBRARY = <<~RUBY
    module SmallGem
      def self.parse(text) = text.split(",")
    end
  RUBY
  BENCHMARKS = <<~RUBY
    require "small_gem"
    Tiercel::Lab.benchmark("parse", expect: %w[a b c]) { SmallGem.parse("a,b,c") }
  RUBY

  # @return [String]
  attr_reader :folder

  # Creates one with a cache folder, and removes both after the block.
  def self.make(**)
    Dir.mktmpdir do |folder|
      before = ENV.to_h.slice("XDG_CACHE_HOME", "GITHUB_STEP_SUMMARY")
      ENV.update("XDG_CACHE_HOME" => File.join(folder, "cache"), "GITHUB_STEP_SUMMARY" => nil)
      yield new(File.join(folder, "small_gem"), **)
    ensure
      ENV.update("XDG_CACHE_HOME" => nil, "GITHUB_STEP_SUMMARY" => nil)
      ENV.update(before)
    end
  end

  # @param gate [String, nil] content of the gate's configuration
  def initialize(folder, library: LIBRARY, benchmarks: BENCHMARKS, gate: "gate: {}\n")
    @folder = folder
    FileUtils.mkdir_p(folder)
    git("init", "--quiet", "--initial-branch=main")
    write("small_gem.gemspec", <<~RUBY)
      Gem::Specification.new do |spec|
        spec.name = "small_gem"
        spec.version = "0.1.0"
        spec.summary = "Parses"
        spec.authors = ["Somebody"]
        spec.files = ["lib/small_gem.rb"]
      end
    RUBY
    write("lib/small_gem.rb", library)
    write("bench/parse_bench.rb", benchmarks) if benchmarks
    write(".tiercel-lab.yml", gate) if gate
    commit("A gem")
  end

  # @return [self]
  def write(path, text)
    target = File.join(folder, path)
    FileUtils.mkdir_p(File.dirname(target))
    File.write(target, text)
    self
  end

  # Replaces a part of a file.
  def change(path, from, to)
    text = File.read(File.join(folder, path))
    raise ArgumentError, "#{path} has no #{from.inspect}" unless text.include?(from)
    write(path, text.sub(from) { to })
  end

  # @return [self]
  def commit(message)
    git("add", "--all")
    git("commit", "--quiet", "--message", message)
    self
  end

  # @return [String] the command's output
  def git(*words)
    said, status = Open3.capture2e("git", "-C", folder, "-c", "user.name=Somebody", "-c",
                                   "user.email=somebody@example.org", "-c", "commit.gpgsign=false", *words)
    raise said unless status.success?
    said
  end
end
