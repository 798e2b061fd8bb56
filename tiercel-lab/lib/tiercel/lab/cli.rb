# frozen_string_literal: true

require "optparse"
require "did_you_mean"
require_relative "../lab"
require_relative "tables"

module Tiercel::Lab
  # The command line of the lab.
  module CLI
    Tiercel::Lab.declare self, "cli/all" => %i[All], "cli/settings" => %i[Progress Settings UserFile],
                      "cli/commands" => %i[HistoryCommand InitCommand ReportCommand TableCommand]

    # The exit codes of the lab's commands.
    module ExitCodes
      OK = 0
      DOES_NOT_HOLD = 1
      USAGE = 2
      UNDECIDED = 3
      WRONG_VALUES = 4
      INTERRUPTED = 130

      MEANINGS = {
        OK => "done; every target holds",
        DOES_NOT_HOLD => "a target does not hold, or a regression is confirmed",
        USAGE => "the command line is invalid, or a file cannot be written",
        UNDECIDED => "a target is undecided, or a named store was not measured",
        WRONG_VALUES => "a store returned wrong values, or lost entries",
        INTERRUPTED => "interrupted (Ctrl-C); the results so far are kept"
      }.freeze
    end

    # An OptionParser with help for a terminal's width.
    class Parser < OptionParser
      # Columns of a terminal.
      WIDTH = 80
      LEFT = 24
      private_constant :LEFT

      # No line begins with a dash, because OptionParser would treat it as an option.
      def self.wrapped(text, width) = text.scan(/\S.{0,#{width - 1}}(?=\s(?!-)|\z)|\S{#{width},}/)

      def initialize
        super(nil, LEFT)
        self.program_name = "tiercel-lab"
        self.version = VERSION
      end

      # Joins an option's description to one sentence and wraps it.
      def on(*words, &)
        said, facts = words.partition { |word| word.is_a?(String) && !word.start_with?("-") }
        super(*facts, *Parser.wrapped(said.join(" "), WIDTH - summary_indent.size - LEFT - 1), &)
      end
    end

    # A command. Its name is the first word of the command line. The command parses its options, refuses unknown ones,
    # and runs.
    #
    # @abstract Subclasses implement {#perform} and {#facts}, and receive arguments in {#accept} and {#options}.
    class Command
      # The help of a command: its name, a line of summary, examples without the program's name, and the groups of
      # {Settings::GROUPS} that it uses.
      Facts = Data.define(:name, :summary, :examples, :groups)

      # @return [IO] output of the results
      attr_reader :out
      # @return [IO] output of progress and errors
      attr_reader :err
      # @return [Settings]
      attr_reader :settings
      # @return [Report::Document, nil] the report, after {#call}; nil if nothing was measured (--help, --plan)
      attr_reader :document

      # @param program [String] the name of the command, for examples
      def initialize(out:, err:, program:)
        @out = out
        @err = err
        @program = program
      end

      # @param arguments [Array<String>] the words after the command's name
      # @return [Integer] see {ExitCodes}
      def call(arguments)
        prepare(arguments)
        return help if @helped
        settings.check
        perform
      rescue OptionParser::ParseError, UsageError => e
        err.puts "#{@program}: #{e.message}", "Type #{command_line(name)} --help for its options."
        ExitCodes::USAGE
      end

      # @return [Facts]
      def facts = raise(NotImplementedError)

      def name = facts.name

      # @return [Integer] see {ExitCodes}
      def perform = raise(NotImplementedError)

      private

      # Loads the files of `--require` first, because other arguments may name their contestants.
      def prepare(arguments)
        @settings = Settings.new
        @arguments = arguments.dup
        if facts.groups.include?(:require)
          files = arguments.join("\0").scan(/(?:\A|\0)--require[=\0]([^\0]+)/).flatten
          files.each { |file| UserFile.load(file) }
        end
        choose(arguments.take_while { |word| !word.start_with?("-") })
        rest = parser.parse(arguments)
        accept(rest) unless @helped
      end

      # Receives the words before the first option, before the options are parsed.
      def choose(_words); end

      def options(_parser); end

      def accept(rest)
        raise UsageError, "#{rest.first.inspect}: #{name} takes options only" if rest.any?
      end

      def parser
        @parser ||= Parser.new.tap do |parser|
          parser.banner = "Usage: #{usage}\n\n#{facts.summary}\n"
          parser.separator("")
          options(parser)
          settings.parser(facts.groups, parser)
          parser.on("-h", "--help", "show this text") { @helped = true }
        end
      end

      def usage = "#{command_line(name == Tables::DEFAULT ? "[#{name}]" : name)} [options]"

      def help
        out.puts parser.help, "", "Examples:", facts.examples.map { |text| "  #{command_line(text)}" }
        ExitCodes::OK
      end

      # @return [String] a command line to paste
      def command_line(*arguments) = [@program, *arguments].join(" ")

      def style = @style ||= Report::Terminal::Style.new(out)

      # @param recorder [Engine::Recorder]
      def export(recorder)
        return unless settings.json
        return write(settings.json) { recorder.export(settings.json) } unless settings.json == Settings::OUTPUT
        out.puts JSON.generate(recorder.document)
      end

      # Prints the report for a terminal, or as Markdown (`--markdown` without a file), and writes the other reports.
      # With `--json -` it prints only JSON.
      #
      # @param path [String, nil] path of the results file; printed last
      # @raise [UsageError] after printing, if a file could not be written
      def publish(path: nil)
        print_report(path)
        renderers = { html: Report::Html, markdown: Report::Markdown, csv: Report::Csv }
        settings.reports.each do |form, file|
          write(file, path) { File.write(file, renderers.fetch(form).render(document)) } unless file == Settings::OUTPUT
        end
      end

      def print_report(path)
        return if settings.json == Settings::OUTPUT
        return out.puts(Report::Markdown.render(document)) if settings.reports[:markdown] == Settings::OUTPUT
        out.puts Report::Terminal.render(document, style:)
        out.puts "Every block of this run: #{path}" if path
      end

      def write(file, path = nil)
        yield
      rescue SystemCallError => e
        again = "; #{command_line("report", path)} renders this run again" if path
        raise UsageError, "#{Folder.not_written(file, e)}#{again}"
      end
    end

    # `help`, `help COMMAND` and `help TOPIC`.
    class Help < Command
      FACTS = Facts.new(name: "help", summary: "Lists the commands, or shows the options of one.", groups: [],
                        examples: ["help", "help sizes", "help stores"])
      # Commands by purpose, with one example for each group.
      GROUPS = {
        "Which store" => [%w[compare switch all capabilities app boot],
                          "compare --quick --machines 2 --workers 4"],
        "What a call costs" => [%w[sizes cold client sqlite latency herd],
                                "sizes --quick --size 2KB,100KB"],
        "What a value costs" => [%w[serializers compressors end-to-end],
                                 "serializers --quick --value rows-50"],
        "Changes over time" => [%w[gate history init profile], "gate --base main"],
        "The lab itself" => [%w[help report selfcheck], "report RESULTS.jsonl --html report.html"]
      }.freeze
      # Lists of names for options.
      TOPICS = {
        "stores" => -> { Contestants.shown.to_h { |name| [name, ""] } },
        "operations" => -> { described(Operations) { |operation| "#{operation.phrase}: #{operation.body}" } },
        "values" => -> { described(Values, &:title) },
        "serializers" => -> { described(Serialization) { |library| library.feature.to_s } },
        "compressors" => -> { described(Compression) { |library| library.feature.to_s } }
      }.freeze

      def facts = FACTS

      def perform
        return everything unless @about
        return topic if TOPICS.key?(@about)
        CLI.command(@about, out:, err:, program: @program).call(["--help"])
      end

      private

      def usage = command_line(name, "[COMMAND|TOPIC]")

      def accept(rest)
        raise UsageError, "help #{rest.join(" ")}: expected one word" if rest.size > 1
        @about = rest.first
        known = CLI.names + TOPICS.keys
        return if @about.nil? || known.include?(@about)
        raise UsageError, Catalogue.unknown("command or topic", @about, known)
      end

      def everything
        out.puts "Usage: #{@program} [COMMAND] [options]", "", "Without a command: #{Tables::DEFAULT}.", ""
        GROUPS.each { |title, (names, example)| group("#{title}, such as: #{command_line(example)}", names) }
        others = CLI.names - GROUPS.values.flat_map(&:first)
        group("Your tables", others) if others.any?
        out.puts "Options of a command: #{@program} help COMMAND",
                 "Names for options:    #{@program} help #{TOPICS.keys.first(4).join("|")}|",
                 "                      #{TOPICS.keys.drop(4).join("|")}", "", "Exit codes:"
        ExitCodes::MEANINGS.each { |code, text| out.puts format("  %3d  %s", code, text) }
        ExitCodes::OK
      end

      def group(title, names)
        out.puts title
        list(names.to_h { |name| [name, CLI.command(name, out:, err:, program: @program).facts.summary] })
        out.puts
      end

      def described(catalogue) = catalogue.shown.to_h { |name| [name, yield(catalogue.fetch(name))] }

      def topic
        list(instance_exec(&TOPICS.fetch(@about)))
        ExitCodes::OK
      end

      # Cuts long summaries to one line; the command's own help has the whole text.
      def list(words)
        width = words.keys.map(&:length).max
        room = Parser::WIDTH - width - 4
        words.each do |name, text|
          text = "#{text[0, room - 1].rstrip}\u2026" if text.length > room
          out.puts "  #{name.ljust(width)}  #{text}".rstrip
        end
      end
    end

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
      rescue Errno::EPIPE # the reader has closed the pipe
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

      # An empty value, or only commas, is most likely an unset variable of a script. Such a value would name the
      # current or the root folder, or nothing to measure.
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
