# frozen_string_literal: true

require_relative "command"
require_relative "documents/table"
require_relative "terminal/plan_report"
require_relative "warnings"

module Tiercel
  module Lab
    # A command that makes a table again. Measuring and rendering are apart:
    #
    # 1. {#plan} says which cells there are (none where a table is not made of cells);
    # 2. {#take} measures them, and whatever else is wanted: `session.watch` for progress and Ctrl-C,
    #    `session.recorder.table(name, rows)` to keep figures that are not cells;
    # 3. {.document} makes the report of a run's results alone, as they are in its file. So `lab report FILE` shows
    #    the same again, and `lab all` has {#document} after {#call}.
    #
    # Help, --plan, progress, results, reports, the terminal's text and exit codes are the same for all.
    #
    # @abstract Subclasses implement {.document}, and {#plan} or {#take}.
    class TableCommand < Command
      # @return [Report::Document, nil] after {#call}; nil where nothing was measured (--help, --plan)
      attr_reader :document
      # @return [Hash{String => Object}, nil] the run's results, as its file has them
      attr_reader :results

      # @return [Integer]
      def run
        comparisons = plan
        return print_plan(comparisons) if settings.plan
        take(comparisons)
        session.finish({ "warnings" => warnings }.merge(facts))
        @results = session.results
        @document = self.class.document(results, command: command_line(self.class.command_name, *@arguments))
        publish(@document)
        exit_code
      end

      # @return [Array<Comparison>] in the order they are measured
      def plan = []

      # @return [Protocol] a quick run that has many cells may take fewer blocks
      def protocol = settings.protocol

      # @return [Float, nil] seconds, by the plan; nil where there are no cells. Tables with more than cells add to it.
      def expected_seconds
        comparisons = plan
        return if comparisons.empty?
        Session.expected_seconds(comparisons, settings.bounded(protocol))
      end

      # @param comparisons [Array<Comparison>] of {#plan}
      # @return [void]
      def take(comparisons)
        @measurement = session.measure(comparisons, protocol:)
      end

      # @return [Array<String>] what a reader must know before believing the figures
      def warnings
        cells = @measurement ? @measurement.cells : []
        Warnings.of(@measurement ? @measurement.disturbances : [], cells, interrupted: session.interrupted?)
      end

      # @return [Hash{String => Object}] what else the results should have, such as the "servers" of what is not made of
      #   cells
      def facts = {}

      # @return [Integer] see {ExitCodes}
      def exit_code
        wrong = results["cells"].any? { |cell| ["misses", "wrong values"].include?(cell["status"]) }
        wrong ? ExitCodes::WRONG_VALUES : ExitCodes::OK
      end

      private

      # Tables that are not made of cells say in words what they would do.
      def print_plan(comparisons)
        text = comparisons.empty? ? plan_in_words : Terminal::PlanReport.new(comparisons, protocol:).to_s(style)
        out.puts text
        ExitCodes::OK
      end

      def plan_in_words = self.class.summary
    end
  end
end
