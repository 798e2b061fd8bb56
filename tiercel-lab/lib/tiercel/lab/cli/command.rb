# frozen_string_literal: true

require "did_you_mean"
require_relative "../errors"
require_relative "../folder"
require_relative "../report"
require_relative "exit_codes"
require_relative "parser"
require_relative "progress"
require_relative "settings"
require_relative "user_file"

module Tiercel
  module Lab
    module CLI
      # A command. Its name is the first word of the command line. It parses its options, refuses unknown ones, and
      # runs.
      #
      # @abstract Subclasses implement {#perform} and {#facts}, and receive arguments in {#accept} and {#options}.
      class Command
        # The help of a command: its name, a line of summary, examples without the program's name, and the groups of
        # {Settings::OPTIONS} that it uses.
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
          err.puts "#{@program}: #{words(e)}", "Type #{command_line(name)} --help for its options."
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
          shape = Shape.new
          rest = settings.parser(Settings::OPTIONS, self.shape(shape)).rest(arguments)
          shape.requires.each { |file| UserFile.load(file) } if facts.groups.include?(:require)
          choose(rest)
          rest = parser.parse(arguments)
          accept(rest) unless @helped
        end

        # Adds the options of every variant of the command.
        def shape(parser) = parser.tap { options(parser) }

        # Receives the arguments that are not options, before the options are parsed.
        def choose(_rest); end

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
          examples = facts.examples.flat_map { |text| Parser.pasted(command_line(*text.split)) }
          out.puts parser.help, "", "Examples:", examples
          ExitCodes::OK
        end

        # @param error [OptionParser::ParseError, UsageError]
        # @return [String] the message for the user
        def words(error)
          case error
          when OptionParser::MissingArgument then "#{error.args.join}: expected a value"
          when OptionParser::InvalidArgument then parser.expectation(*error.args.join(" ").split(/[ =]/, 2))
          when OptionParser::InvalidOption then unknown_option(error.args.first.to_s[/\A[^=]+/])
          else error.message
          end
        end

        # An option of another command and an unknown option have the same message.
        def unknown_option(option)
          meant = DidYouMean::SpellChecker.new(dictionary: own_options).correct(option).first
          "#{name} has no option #{option}#{". Did you mean #{meant}?" if meant}"
        end

        def own_options = parser.to_a.grep(/\A\s+-/).flat_map { |line| line.scan(/(?<=[\s\]])--[\[\]\w-]+/) }

        # @return [String] a command line to paste
        def command_line(*arguments) = [@program, *arguments].join(" ")

        def style = @style ||= Report::Terminal::Style.new(out)

        # @param recorder [Engine::Recorder]
        def export(recorder)
          return unless settings.json
          return attempt(settings.json) { recorder.export(settings.json) } unless settings.json == Settings::OUTPUT
          out.puts JSON.generate(recorder.document)
        end

        # Writes the requested reports and prints the report for a terminal, or as Markdown (`--markdown` without a
        # file).
        #
        # With `--json -` it prints only JSON.
        #
        # @param path [String, nil] path of the results file; printed last
        # @raise [UsageError] after printing, if a file could not be written
        def publish(path: nil)
          write_reports
          print_report(path)
          return if unwritten.empty?
          again = "; #{command_line("report", path)} renders this run again" if path
          raise UsageError, "#{unwritten.join("; ")}#{again}"
        end

        def write_reports
          renderers = { html: Report::Html, markdown: Report::Markdown, csv: Report::Csv }
          settings.reports.each do |form, file|
            next if file == Settings::OUTPUT
            text = renderers.fetch(form).render(document)
            attempt(file) { File.write(file, text) }
          end
        end

        def print_report(path)
          return if settings.json == Settings::OUTPUT
          return out.puts(Report::Markdown.render(document)) if settings.reports[:markdown] == Settings::OUTPUT
          out.puts Report::Terminal.render(document, style:)
          out.puts "Every block of this run: #{path}" if path
        end

        # Writes a file at the end of a run. The report is printed even if that fails.
        def attempt(file)
          yield
        rescue SystemCallError => e
          unwritten << Folder.not_written(file, e)
        end

        def unwritten = @unwritten ||= []
      end
    end
  end
end
