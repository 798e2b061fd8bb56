# frozen_string_literal: true

require "tempfile"
require_relative "child_process"
require_relative "outcome"
require_relative "suite"

module TestRunner
  # Runs a suite that consists of shell commands. Each command is a test, which passes if it exits with 0.
  #
  # The declaring file is Ruby:
  #
  #   command "segment: threads", "$PWD/tmp/native/gcc/threads_test"
  #   command "segment core, fuzzed for ten minutes", "make -C ...", long: true
  class CommandsRun
    # One declared command. `long`: runs only with --long.
    Command = Struct.new(:name, :shell, :long)

    # @param suite [Suite]
    # @param root [String] the repository, in which commands run
    # @param long [Boolean] whether to run commands with long: true as well
    # @param name [String, nil] runs only commands whose name contains it (or matches it, as /REGEXP/)
    # @param seconds [Numeric] time limit of each command
    def initialize(suite, root:, long: false, name: nil, out: $stdout, seconds: 900)
      @suite = suite
      @root = root
      @long = long
      @name = name
      @out = out
      @seconds = seconds
    end

    # @return [Outcome]
    def run
      outcome = Outcome.new(@suite.name)
      declared.each { |command| run_command(command, outcome) }
      outcome
    end

    private

    def declared
      path = File.join(@root, @suite.commands)
      return [] unless File.exist?(path)
      @declared = []
      instance_eval(File.read(path), path)
      @declared.select { |command| (@long || !command.long) && wanted?(command) }
    end

    def command(name, shell, long: false)
      @declared << Command.new(name, shell, long)
    end

    def wanted?(command)
      return true unless @name
      pattern = @name[%r{\A/(.*)/\z}m, 1]
      pattern ? command.name.match?(Regexp.new(pattern)) : command.name.include?(@name)
    end

    def run_command(command, outcome)
      Tempfile.create("tiercel-command") do |output|
        status = ChildProcess.run(["bash", "-o", "pipefail", "-c", command.shell], seconds: @seconds, chdir: @root,
                                  out: output.path, err: %i[child out])
        next outcome.pass if status&.success?
        outcome.fail(command.name)
        show(command, status, output.path)
      end
    end

    def show(command, status, path)
      @out.puts "Failure: #{command.name}: #{ChildProcess.describe(status)}"
      @out.puts "  $ #{command.shell}", File.readlines(path).last(60).map { |line| "  #{line.scrub}" }
    end
  end
end
