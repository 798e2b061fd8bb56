# frozen_string_literal: true

require "fileutils"
require "rbconfig"
require "tmpdir"
require_relative "child_process"
require_relative "outcome"
require_relative "record"

module TestRunner
  # Runs a suite's test files with the suite's bundle, in one process or in several that share the tests. Each of
  # several processes loads all files and then runs every test that no other process has claimed (boot.rb).
  class RubyRun
    BOOT = File.expand_path("boot.rb", __dir__)
    LOAD_PATH_FOLDERS = %w[lib test tiercel-insight/lib tiercel-insight/test tiercel-lab/lib tiercel-lab/test].freeze

    # @param suite [Suite]
    # @param files [Array<String>] paths relative to the repository
    # @param root [String] the repository
    # @param arguments [Array<String>] arguments for Minitest
    # @param environment [Hash{String => String}] additional environment variables
    # @param workers [Integer] number of processes that share the tests
    # @param seconds [Numeric] time limit
    # @param out [IO] the output of the processes, including errors unless it is the standard output
    def initialize(suite, files, root:, arguments: [], environment: {}, workers: suite.processes(files), seconds: 900,
                   out: $stdout)
      @suite = suite
      @files = files
      @root = root
      @arguments = arguments
      @environment = environment
      @workers = workers
      @seconds = seconds
      @output = out.equal?($stdout) ? {} : { out: out, err: %i[child out] }
    end

    # @return [Outcome]
    def run
      Dir.mktmpdir("tiercel-run-") do |dir|
        File.write("#{dir}/files", @files.map { |file| "#{File.join(@root, file)}\n" }.join)
        records = Array.new(@workers) { |index| "#{dir}/record-#{index}" }
        statuses = run_workers(dir, records)
        outcome = Outcome.new(@suite.name)
        records.zip(statuses) { |record, status| Record.read(record, outcome, status) }
        outcome
      end
    end

    private

    # An error in one process, or an interrupt, ends all of them.
    def run_workers(dir, records)
      Dir.mkdir("#{dir}/claims")
      FileUtils.touch(records)
      workers = records.map { |record| Thread.new { run_worker(dir, record, several: records.size > 1) } }
      workers.each { |worker| worker.report_on_exception = false }
      workers.map(&:value)
    ensure
      workers&.each(&:kill)&.each(&:join)
    end

    def run_worker(dir, record, several:)
      environment = { "BUNDLE_GEMFILE" => File.expand_path(@suite.gemfile, @root), "TIERCEL_SUITE" => @suite.name,
                      "TIERCEL_TEST_FILES" => "#{dir}/files", "TIERCEL_TEST_RECORD" => record,
                      "TIERCEL_TEST_CLAIMS" => ("#{dir}/claims" if several), **@environment }
      ChildProcess.run(command, environment: environment, seconds: @seconds, chdir: @root, **@output)
    end

    def command
      folders = LOAD_PATH_FOLDERS.flat_map { |folder| ["-I", File.join(@root, folder)] }
      [RbConfig.ruby, "-rbundler/setup", *folders, BOOT, *@arguments]
    end
  end
end
