# frozen_string_literal: true

require_relative "../tables"
require_relative "command"
require_relative "plan"

module Tiercel
  module Lab
    module CLI
      # Measures a table, keeps the run, and prints the report of the kept run.
      class TableCommand < Command
        # @return [Hash{String => Object}, nil] the results, in the form of the file
        attr_reader :results
        # @return [Engine::Run, nil]
        attr_reader :run

        # @param table [Class<Tables::Table>]
        def initialize(table, **)
          super(**)
          @named = @table_class = table
        end

        def facts
          Facts.new(name: @table_class.name, summary: @table_class.summary, examples: @table_class.examples,
                    groups: [*@table_class.taken, *Settings::OWN, *Settings::OUTPUTS])
        end

        def perform
          return plan if settings.plan
          @run = Engine::Run.new(command: name, arguments: @arguments, settings:,
                                 progress: ->(expected_seconds) { Progress.new(err, expected_seconds:) })
          @results = table.measure(run)
          export(run.recorder)
          @document = @table_class.report(results, command: Tables.command_line(name, @arguments, @program))
          publish(path: run.recorder.path)
          run.interrupted? ? ExitCodes::INTERRUPTED : @table_class.exit_code(results)
        rescue CannotRun => e # a side that cannot be built leaves nothing to compare
          err.puts "#{@program}: #{e.message}"
          ExitCodes::UNDECIDED
        end

        # Estimates the time of a call without measuring.
        #
        # @param arguments [Array<String>]
        # @return [Float, nil] seconds; nil if the table has no estimate
        # @raise [OptionParser::ParseError, UsageError]
        def estimate(arguments)
          prepare(arguments)
          table.expected_seconds
        end

        private

        # A new table for each command line, because options change it.
        def table = @table ||= @table_class.new(settings)

        def shape(parser) = parser.tap { @named.variants.each { |table| table.new(settings).options(parser) } }

        def choose(rest)
          @table_class = @named.variant(rest)
          @table = @parser = nil
        end

        def options(parser) = table.options(parser)

        def accept(rest) = table.accept(rest)

        def usage
          named = @table_class.usage
          named ? command_line(name, named, "[options]") : super
        end

        # Tables without cells describe their plan in words.
        def plan
          comparisons = table.plan
          cells = Plan.new(comparisons, protocol: settings.bounded(table.protocol)).to_s(style) if comparisons.any?
          words = [table.plan_in_words, cells].compact
          out.puts words.any? ? words.join("\n\n") : @table_class.summary
          ExitCodes::OK
        end
      end
    end
  end
end
