# frozen_string_literal: true

require_relative "answer/candidate"
require_relative "answer/choice"
require_relative "answer/constraints"
require_relative "answer/figures"
require_relative "answer/now"
require_relative "answer/page"
require_relative "answer/sheet"

module Tiercel
  module Lab
    # The answer to "which store should I use?". It has the application's {Constraints}, {Candidate}s with the {Figures}
    # of a run, the {Choice} among them, and the {Sheet} at the top of a report.
    module Answer
      # @param results [Hash{String => Object}] results of a run that measured stores
      # @param constraints [Hash{String => Object}, nil] from the run's results
      # @param program [String] the name of the command, for examples
      # @return [Sheet, nil] nil if the run has no figures for an answer
      def self.of(results, constraints, program:)
        page = Page.from(results["page"])
        figures = Figures.new(results, page)
        return if figures.candidates.empty?
        constraints = Constraints.from(constraints) if constraints
        constraints ||= Constraints.suggested(results["environment"])
        choice = Choice.new(figures.candidates, constraints, equality: figures.equality?, page:, now: results["now"])
          Sheet.new(choice, figures, program:)
      end
    end
  end
end
