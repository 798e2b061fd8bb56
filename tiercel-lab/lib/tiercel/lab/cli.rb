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
    # The command line of the lab.
    module CLI
      # Commands that are not tables.
      OTHERS = { "all" => All::Command, "report" => ReportCommand, "history" => HistoryCommand,
                 "init" => InitCommand, "help" => Help }.freeze

      class << self
        # @param arguments [Array<String>]
        # @param out [IO]
        # @param err [IO]
        # @param program [String] the name of the command, for messages
        # @return [Integer] exit code
        def run(arguments, out: $stdout, err: $stderr, program: ENV.fetch("TIERCEL_LAB_PROGRAM", "tiercel-lab"))
          return version(out) if %w[--version -v].include?(arguments.first)
          name, rest = split(words(arguments))
          command(name, out:, err:, program:).call(rest).tap { out.flush }
        rescue UsageError => e
          err.puts "#{program}: #{e.message}"
          ExitCodes::USAGE
        rescue SignalException # Ctrl-C or SIGTERM, outside of a measurement
          ExitCodes::INTERRUPTED
        rescue Errno::EPIPE # the reader of a pipe has seen enough
          ExitCodes::OK
        rescue Errno::ENOSPC, Errno::EDQUOT => e
          err.puts "#{program}: not everything was written: #{e.message}; free some space, or name another place"
          ExitCodes::USAGE
        end

        # @return [Array<String>] names of all commands
        def names = [*Tables.names, *OTHERS.keys].sort

        # @return [Command]
        # @raise [UsageError] if the command is unknown
        def command(name, **)
          return OTHERS.fetch(name).new(**) if OTHERS.key?(name)
          raise UsageError, Catalogue.unknown("command", name, names) unless Tables.known?(name)
          TableCommand.new(Tables.fetch(name), **)
        end

        # Makes the report of a kept run of any command.
        #
        # @param results [Hash{String => Object}]
        # @return [Report::Document]
        def document(results, program:)
          return Tables.report(results, program:) unless results["run"]["command"] == All::NAME
          All::View.new(results, command: Tables.command_line(All::NAME, results["run"]["arguments"], program)).build
        end

        # Computes the exit code of a kept run.
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

        # An empty value, or only commas, is most likely an unset variable of a script. It would name the current or the
        # root folder, or nothing to measure.
        #
        # @return [Array<String>] the arguments as UTF-8, whatever the locale is
        # @raise [UsageError]
        def words(arguments)
          arguments.map { |word| word.dup.force_encoding(Encoding::UTF_8) }.tap do |words|
            broken = words.find { |word| !word.valid_encoding? }
            raise UsageError, "#{broken.inspect}: expected UTF-8; rename the file, or type it again" if broken
            before, word = ["COMMAND", *words].each_cons(2).find { |_, one| one.match?(/\A(--[\w-]+=)?,*\z/) } || next
            option, value = word.include?("=") ? word.split("=", 2) : [before, word]
            alternative = "; expected one, or no #{option}" if option.start_with?("--")
            raise UsageError, "#{option} #{value.inspect}: the value is empty#{alternative}"
          end
        end

        # @return [Array(String, Array<String>)] name of the command, and its arguments
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
