# frozen_string_literal: true

require_relative "answer/candidate"
require_relative "answer/choice"
require_relative "answer/constraints"
require_relative "answer/figures"
require_relative "answer/sheet"

module Tiercel
  module Lab
    # The answer to "which store should I use?": {Constraints} of the application, {Candidate}s with the {Figures} of a
    # run, the {Choice} among them, and the {Sheet} that a report opens with.
    module Answer
      # @param results [Hash{String => Object}] of a run with cells of stores
      # @param constraints [Hash{String => Object}, nil] as the run recorded them
      # @param program [String] how the user calls the lab
      # @return [Sheet, nil] nil where the run has no figures to answer with
      def self.of(results, constraints, program:)
        figures = Figures.new(results)
        return if figures.candidates.empty?
        constraints = Constraints.from(constraints) if constraints
        constraints ||= Constraints.suggested(results["environment"])
        Sheet.new(Choice.new(figures.candidates, constraints, equality: figures.equality?), figures, program:)
      end
    end
  end
end
