# frozen_string_literal: true

require_relative "../comparison"
require_relative "../measurement"
require_relative "../statistics"

module Tiercel
  module Lab
    module Selfcheck
      # One fresh measurement of the same work three times: as the baseline, once more, and with 5 % planted on top. Its
      # verdicts are those that the lab gives, by a threshold that was fixed before anything was measured.
      class Recording
        STEPS = 2_000
        # 5 % more real work.
        PLANTED_STEPS = 2_100
        # What the protocol calls a difference in-process; at most 3 % is asked for.
        THRESHOLD = Protocol::MEDIUM_THRESHOLDS.fetch(:process)
        VALUE = "string-100b"
        KINDS = { "same" => "again=steps:#{STEPS}", "planted" => "steps:#{PLANTED_STEPS}" }.freeze

        # @return [Comparison]
        def self.comparison
          contestants = ["steps:#{STEPS}", *KINDS.values].map { |text| Contestants.parse(text) }
          Comparison.of(value: Values.fetch(VALUE), operation: Operations.fetch("read"), contestants:,
                        baseline: contestants.first)
        end

        # @param cells [Array<Cell>] measured, of one comparison
        def initialize(cells)
          @blocks = cells.select { |cell| cell.arm.row? && cell.measured? }.to_h do |cell|
            [cell.arm.contestant.text, cell.block_ns]
          end
        end

        # @param kind [String] of {KINDS}
        # @param seed [Integer] of the resamples
        # @return [Statistics::Interval] of time to the baseline's
        # @raise [CannotRun] if there are no blocks of both
        def ratio(kind, seed:)
          logs = log_ratios(@blocks[KINDS.fetch(kind)], @blocks["steps:#{STEPS}"])
          raise CannotRun, "nothing was measured" if logs.empty?
          Statistics::Bootstrap.new(seed:).interval(logs).exp
        end

        # @param interval [Statistics::Interval]
        # @return [String] "faster", "slower", "same" or "cannot_tell"
        def self.verdict(interval) = Statistics::Verdict.of(interval, threshold: THRESHOLD).to_s

        private

        def log_ratios(mine, theirs)
          return [] unless mine && theirs
          mine.filter_map do |process, blocks|
            logs = blocks.filter_map { |block, ns| Math.log(ns / theirs[process][block]) if theirs.dig(process, block) }
            logs if logs.any?
          end
        end
      end
    end
  end
end
