# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Herd
        # All rounds of one store under one condition, as they were recorded.
        #
        # @!attribute [r] store
        #   @return [String]
        # @!attribute [r] condition
        #   @return [String] name of a {Design::Condition}
        # @!attribute [r] rows
        #   @return [Array<Hash{String => Object}>]
        Crowd = Data.define(:store, :condition, :rows)

        class Crowd
          # @return [Hash, nil] the row that says why there are no figures
          def failed = rows.find { |row| !Engine::Outcome.measured?(row) }

          # @return [Boolean] whether each process has a store of its own
          def own? = rows.first["own"] ? true : false

          # @return [String] the condition in a sentence
          def words
            [*Design::RAILS, *Design::OURS].find { |one| one.name == condition }&.words || "(#{condition})"
          end

          # @return [Array<Numeric>] the figure of each round
          def figures(name) = rows.map { |row| row[name] }

          # @return [Array<Integer>] blocks that ran, of each round
          def runs = figures("blocks_ms").map(&:size)

          # @return [Array<Integer>] blocks that ran at the same time, of each round
          def peaks = figures("blocks_ms").map { |blocks| blocks.map { |start, _| running(blocks, start) }.max.to_i }

          # @return [Array<Float>] ms, of each round
          def medians = figures("callers_ms").map { |times| Statistics.median(times) }

          # @return [Array<Float>] ms, of each round
          def slowest = figures("callers_ms").map(&:max)

          # @return [Array<Float>] the callers' times in all rounds, in ms
          def callers_ms = figures("callers_ms").flatten

          # @return [Float] ms after which no block ran any more, in any round
          def last_end = figures("blocks_ms").flatten(1).map(&:last).max.to_f

          # @param at [Float] ms after the calls began
          # @return [Float] blocks that ran then, mean of the rounds
          def load(at) = figures("blocks_ms").sum { |blocks| running(blocks, at) }.fdiv(rows.size)

          private

          def running(blocks, at) = blocks.count { |start, stop| start <= at && at < stop }
        end
      end
    end
  end
end
