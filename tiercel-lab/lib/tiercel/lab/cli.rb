# frozen_string_literal: true

require_relative "version"
require_relative "tables"
require_relative "cli/all/command"
require_relative "cli/help"
require_relative "cli/history_command"
require_relative "cli/init_command"
require_relative "cli/report_command"
require_relative "cli/table_command"

module Tiercel
  module Lab
    # The command line: picks the command, and is the last to know of an interruption.
    module CLI
      # Commands that are no tables.
      OTHERS = { "all" => All::Command, "report" => ReportCommand, "history" => HistoryCommand,
                 "init" => InitCommand, "help" => Help }.freeze

      class << self
        # @param arguments [Array<String>]
        # @param out [IO]
        # @param err [IO]
        # @param program [String] how the user calls it
        # @return [Integer] exit code
        def run(arguments, out: $stdout, err: $stderr, program: ENV.fetch("TIERCEL_LAB_PROGRAM", "tiercel-lab"))
          return version(out) if %w[--version -v].include?(arguments.first)
          name, rest = split(arguments)
          command(name, out:, err:, program:).call(rest)
        rescue UsageError => e
          err.puts "#{program}: #{e.message}"
          ExitCodes::USAGE
        rescue Interrupt
          ExitCodes::INTERRUPTED
        rescue Errno::EPIPE # the reader of a pipe has seen enough
          ExitCodes::OK
        end

        # @return [Array<String>] of all commands
        def names = [*Tables.names, *OTHERS.keys].sort

        # @return [Command]
        # @raise [UsageError] if there is none of the name
        def command(name, **)
          return OTHERS.fetch(name).new(**) if OTHERS.key?(name)
          raise UsageError, Catalogue.unknown("command", name, names) unless Tables.known?(name)
          TableCommand.new(Tables.fetch(name), **)
        end

        # The report of a kept run, whatever made it.
        #
        # @param results [Hash{String => Object}]
        # @return [Report::Document]
        def document(results, program:)
          return Tables.report(results, program:) unless results["run"]["command"] == All::NAME
          All::View.new(results, command: Tables.command_line(All::NAME, results["run"]["arguments"], program)).build
        end

        # The exit code of a run, from its kept results.
        #
        # @param results [Hash{String => Object}]
        # @return [Integer] see {ExitCodes}
        def exit_code(results)
          return ExitCodes::INTERRUPTED unless results["complete"]
          command = results["run"]["command"]
          return All::View.new(results, command: "").exit_code if command == All::NAME
          Tables.fetch(command).exit_code(results)
        end

        private

        def version(out)
          out.puts "tiercel-lab #{VERSION}"
          ExitCodes::OK
        end

        # @return [Array(String, Array<String>)] the command's name and its arguments
        def split(arguments)
          first, *rest = arguments
          return ["help", []] if arguments == ["--help"] || arguments == ["-h"]
          return [Tables::DEFAULT, arguments] if first.nil? || first.start_with?("-")
          [first, rest]
        end
      end
    end
  end
end
