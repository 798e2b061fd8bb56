# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Tiers
        # How long another machine took to see each change, under one condition. A change that was not seen took longer
        # than the watch lasted.
        class Ages
          # Points of a curve.
          POINTS = 40

          # @return [Hash{String => Object}] as it was recorded
          attr_reader :row

          # @param row [Hash{String => Object}]
          def initialize(row)
            @row = row
          end

          def measured? = Engine::Outcome.measured?(row)
          def failed = measured? ? nil : row
          def label = "#{store}, #{beside}"
          def store = row["store"]
          def changes = row["changes"]
          def unseen = row["unseen"]
          def looks_ms = row["looks_ms"]

          # @return [String]
          def beside
            count = row["busy"]
            return "idle" if count.zero?
            "#{Report::Format.several(count, "busy thread")}#{", an idle process listens" if row["company"]}"
          end

          # @return [Boolean] whether the watcher was another process than the busy one
          def looked_beside? = row["looked_beside"] || false

          # @return [Array<Float>] ascending
          def seen_ms = @seen_ms ||= [*row["seen_ms"], *row["deleted_ms"]].sort

          # @param share [Float] share of all changes
          # @return [Float, nil] the time in ms within which this share of the changes was seen (a rank without
          #   interpolation); nil if fewer were seen
          def quantile(share) = seen_ms[[(changes * share).ceil - 1, 0].max]

          # @return [Array<Array(Float, Float)>] ms, and the share of all changes seen by then, in percent
          def curve
            ranks = Array.new(POINTS) { |index| ((seen_ms.size - 1) * index / (POINTS - 1.0)).round }.uniq
            ranks.map { |rank| [seen_ms[rank], (rank + 1) * 100.0 / changes] }.uniq(&:first)
          end
        end
      end
    end
  end
end
