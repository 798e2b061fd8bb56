# frozen_string_literal: true

require "optparse"
require_relative "errors"
require_relative "exit_codes"
require_relative "session"
require_relative "settings"
require_relative "documents/compare"
require_relative "terminal/report_document"
require_relative "terminal/style"

module Tiercel
  module Lab
    # One command of the command line. A subclass in `commands/` is found by its file:
    #
    #   class Sizes < Command
    #     called "sizes", "what a hit costs by the size of the value"
    #     example "sizes --quick"
    #
    #     def options(parser) = parser.on("--dir DIR", "another folder") { |dir| @directory = dir }
    #
    #     def run
    #       measurement = session.measure(comparisons)
    #       out.puts ...
    #       ExitCodes::OK
    #     end
    #   end
    #   Commands.add(Sizes)
    #
    # @abstract Subclasses implement {#run}.
    class Command
      class << self
        # The report of a run of this command, made from its results alone; `lab report` asks for it.
        #
        # @param results [Hash{String => Object}] see {Results.load}
        # @param command [String] what makes it again
        # @return [Report::Document]
        def document(results, command:) = Documents::Compare.new(results, command:).build

        # @return [String]
        attr_reader :command_name
        # @return [String] one line for the list of commands
        attr_reader :summary

        # @param name [String]
        # @param summary [String]
        def called(name, summary)
          @command_name = name
          @summary = summary
        end

        # @param arguments [String] a command line without the program, for --help
        def example(*arguments) = examples.concat(arguments)

        # @return [Array<String>]
        def examples = @examples ||= []

        # For {Catalogue}.
        alias name_of_class name
        def name = command_name || name_of_class
      end

      # @return [IO] for results
      attr_reader :out
      # @return [IO] for progress and complaints
      attr_reader :err
      # @return [Settings] what every command takes
      attr_reader :settings

      # @param out [IO]
      # @param err [IO]
      # @param program [String] how the user calls the lab
      def initialize(out:, err:, program:)
        @out = out
        @err = err
        @program = program
        @settings = Settings.new
      end

      # @param arguments [Array<String>] after the command's name
      # @return [Integer] see {ExitCodes}
      def call(arguments)
        @arguments = arguments.dup
        rest = parser.parse(arguments)
        return ExitCodes::OK if @helped
        accept(rest)
        code = run
        session.interrupted? ? ExitCodes::INTERRUPTED : code
      rescue OptionParser::ParseError, UsageError => e
        err.puts "#{@program}: #{e.message}", "Type #{call_of(self.class)} --help for what can be said."
        ExitCodes::USAGE
      end

      # How long a call would take; nothing is measured.
      #
      # @param arguments [Array<String>]
      # @return [Float, nil] seconds; nil where the command cannot say
      # @raise [OptionParser::ParseError, UsageError]
      def estimate(arguments)
        @arguments = arguments.dup
        accept(parser.parse(arguments))
        expected_seconds
      end

      # @return [Float, nil] seconds
      def expected_seconds = nil

      # Adds the command's own options.
      #
      # @param parser [OptionParser]
      # @return [void]
      def options(parser); end

      # @param rest [Array<String>] arguments that are not options
      # @return [void]
      # @raise [UsageError] if there are any and the command takes none
      def accept(rest)
        raise UsageError, "#{rest.first.inspect}: #{self.class.command_name} takes options only" if rest.any?
      end

      # @return [Integer] see {ExitCodes}
      def run = raise(NotImplementedError)

      # @return [Session] measures, records and shows progress
      def session
        @session ||= Session.new(settings, command: self.class.command_name, arguments: @arguments, err:)
      end

      # @return [Terminal::Style] of the output
      def style = @style ||= Terminal::Style.new(out)

      # @param arguments [Array<String>]
      # @return [String] a command line that can be pasted
      def command_line(*arguments) = [@program, *arguments].join(" ")

      # Writes the reports that were asked for; on the output what fits a terminal, or Markdown (`--markdown` alone).
      #
      # @param document [Report::Document]
      # @param text [String, nil] for the terminal; nil: the document's tables
      # @return [void]
      def publish(document, text: nil)
        session.publish(document)
        return out.puts(Report::Markdown.render(document)) if settings.reports[:markdown] == Settings::OUTPUT
        out.puts(text || Terminal::ReportDocument.new(document).to_s(style))
      end

      private

      def call_of(command) = command.command_name == Commands::DEFAULT ? @program : command_line(command.command_name)

      def parser
        OptionParser.new do |parser|
          parser.banner = "Usage: #{call_of(self.class)} [options]\n\n#{self.class.summary}\n"
          parser.separator("")
          options(parser)
          parser.separator("")
          settings.options(parser)
          parser.on("-h", "--help", "this text") { help(parser) }
        end
      end

      def help(parser)
        @helped = true
        out.puts parser.help
        out.puts "", "Examples:", self.class.examples.map { |text| "  #{command_line(*text.split)}".rstrip }
        help_on_commands if self.class.command_name == Commands::DEFAULT
        out.puts "", "Exit codes:", ExitCodes::MEANINGS.map { |code, text| format("  %3d  %s", code, text) }
      end

      def help_on_commands
        out.puts "", "Commands:"
        Commands.all.each { |command| out.puts format("  %-14s %s", command.command_name, command.summary) }
      end
    end
  end
end
