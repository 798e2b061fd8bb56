# frozen_string_literal: true

require "rbconfig"
require "tempfile"
require_relative "child_process"
require_relative "outcome"
require_relative "record"

module TestRunner
  # Runs a suite's test files in one process with the suite's bundle.
  class RubyRun
    BOOT = File.expand_path("boot.rb", __dir__)
    LOAD_PATH_FOLDERS = %w[lib test tiercel-lab/lib tiercel-lab/test].freeze

    # @param suite [Suite]
    # @param files [Array<String>] in the repository
    # @param root [String] the repository
    # @param arguments [Array<String>] for Minitest
    # @param environment [Hash{String => String}] more of it
    # @param seconds [Numeric] time limit
    # @param out [IO] where the process prints, its errors too unless it is the standard output
    def initialize(suite, files, root:, arguments: [], environment: {}, seconds: 900, out: $stdout)
      @suite = suite
      @files = files
      @root = root
      @arguments = arguments
      @environment = environment
      @seconds = seconds
      @output = out.equal?($stdout) ? {} : { out: out, err: %i[child out] }
    end

    # @return [Outcome]
    def run
      outcome = Outcome.new(@suite.name)
      Tempfile.create("tiercel-files") do |list|
        list.puts(@files.map { |file| File.join(@root, file) })
        list.flush
        Tempfile.create("tiercel-record") do |record|
          status = ChildProcess.run(command, environment: environment(list.path, record.path),
                                             seconds: @seconds, chdir: @root, **@output)
          Record.read(record.path, outcome, status)
        end
      end
      outcome
    end

    private

    def command
      folders = LOAD_PATH_FOLDERS.flat_map { |folder| ["-I", File.join(@root, folder)] }
      [RbConfig.ruby, "-rbundler/setup", *folders, BOOT, *@arguments]
    end

    def environment(list, record)
      { "BUNDLE_GEMFILE" => File.expand_path(@suite.gemfile, @root), "TIERCEL_TEST_FILES" => list,
        "TIERCEL_TEST_RECORD" => record, "TIERCEL_SUITE" => @suite.name, **@environment }
    end
  end
end
