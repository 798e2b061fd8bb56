# frozen_string_literal: true

require_relative "../comparison"
require_relative "../protocol"

module Tiercel
  module Lab
    module Selfcheck
      # Work that is known: the same three times (as the baseline, once more, and as the null arm), and 5 % more of it.
      # The verdicts are those that the lab gives.
      module Recording
        STEPS = 2_000
        # 5 % more real work.
        PLANTED_STEPS = 2_100
        MARGIN = Protocol::MARGINS.fetch(:process)
        VALUE = "string-100b"
        KINDS = { "same" => "again=steps:#{STEPS}", "planted" => "steps:#{PLANTED_STEPS}" }.freeze

        module_function

        # @return [Comparison]
        def comparison
          contestants = ["steps:#{STEPS}", *KINDS.values].map { |text| Contestants.parse(text) }
          Comparison.of(value: Values.fetch(VALUE), operation: Operations.fetch("read"), contestants:,
                        baseline: contestants.first)
        end

        # @param cells [Array<Cell>] measured
        # @param recording [Integer]
        # @return [Array<Hash>] a row for each of {KINDS}
        def rows(cells, recording)
          KINDS.map do |kind, text|
            cell = cells.find { |candidate| candidate.arm.row? && candidate.arm.contestant.text == text }
            { "recording" => recording, "kind" => kind }.merge(cell.summary ? found(cell) : missing(cell))
          end
        end

        def found(cell)
          { "verdict" => cell.summary.verdict.to_s, "processes" => cell.block_ns.size,
            "ratio" => cell.summary.ratio.to_h.transform_keys(&:to_s) }
        end
        private_class_method :found

        def missing(cell) = { "verdict" => "cannot run", "processes" => 0, "ratio" => nil, "reason" => cell.reason }
        private_class_method :missing
      end
    end
  end
end
