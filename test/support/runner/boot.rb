# frozen_string_literal: true

# Runs in a suite's process, inside its bundle: loads the suite's files and lets Minitest run them. The environment
# contains the list of files and the path of the record; the arguments are Minitest's.

require_relative "../strict_warnings"
require "digest"
require "minitest"
require_relative "reporter"

module TestRunner
  # Loads files. A file that cannot be loaded becomes a failing test, and the other files still run.
  module Boot
    def self.load_files(paths)
      paths.each do |path|
        require path
      rescue StandardError, ScriptError => e
        broken_file(path, e)
      end
    end

    def self.broken_file(path, error)
      Class.new(Minitest::Test) do
        define_singleton_method(:name) { "LoadError" }
        define_singleton_method(:to_s) { name }
        define_method("test_#{File.basename(path, ".rb")}_can_be_loaded") { raise error }
      end
    end
    private_class_method :broken_file
  end
end

module TestRunner
  # Divides a suite's tests among several processes: each test runs in the first process that creates a folder with its
  # name. A class with a constant TOGETHER has an expensive set-up, so one process runs all its tests, before those of
  # other classes.
  module Claims
    FOLDER = ENV.fetch("TIERCEL_TEST_CLAIMS", nil)

    def run_one_method(test_class, name, reporter)
      super if Claims.mine?(Claims.together?(test_class) ? test_class.name : "#{test_class}##{name}")
    end

    def self.together?(test_class) = test_class.const_defined?(:TOGETHER)

    def self.mine?(test) = (@mine ||= Hash.new { |mine, key| mine[key] = take(key) })[test]

    def self.take(test)
      Dir.mkdir(File.join(FOLDER, Digest::SHA256.hexdigest(test)))
    rescue Errno::EEXIST
      false
    end
  end
  Minitest::Runnable.singleton_class.prepend(Claims) if Claims::FOLDER
  Minitest::Runnable.runnables.define_singleton_method(:shuffle) do
    super().partition { |test_class| Claims.together?(test_class) }.flatten(1)
  end
end

module Minitest
  def self.plugin_tiercel_runner_init(options)
    record = TestRunner::Record::Writer.new(ENV.fetch("TIERCEL_TEST_RECORD"))
    reporter.reporters.replace([TestRunner::Reporter.new(record, options[:io])])
  end
end
Minitest.extensions << "tiercel_runner"

require "minitest/autorun"
TestRunner::Boot.load_files(File.readlines(ENV.fetch("TIERCEL_TEST_FILES"), chomp: true))
