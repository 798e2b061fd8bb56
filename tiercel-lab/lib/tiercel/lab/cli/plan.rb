# frozen_string_literal: true

require_relative "../engine"
require_relative "../report"

module Tiercel
  module Lab
    module CLI
      # The planned measurements and their expected time.
      class Plan
        # A row with more stores (`end-to-end` has 36) names only the first ones.
        MOST_STORES = 8
        NAMED_STORES = 3
        private_constant :MOST_STORES, :NAMED_STORES

        # @param comparisons [Array<Engine::Comparison>]
        # @param protocol [Engine::Protocol]
        def initialize(comparisons, protocol:)
          @comparisons = comparisons
          @protocol = protocol
        end

        # @param style [Report::Terminal::Style]
        # @return [String]
        def to_s(style)
          columns = Report::Terminal::Columns.new([["value", :left], ["operation", :left], ["cells", :right],
                                                   ["expected", :right], ["stores", :left]])
          @comparisons.each { |comparison| add(columns, comparison) }
          "#{sentence}\n\n#{columns.to_s(style)}"
        end

        private

        def sentence
          cells = @comparisons.sum { |comparison| comparison.arms.count(&:row?) }
          servers = @comparisons.flat_map(&:servers).uniq
          expected = Engine::Measurement.expected_seconds(@comparisons, @protocol)
          "#{Report::Format.several(cells, "cell")} in about #{Report::Format.minutes(expected)}: " \
            "#{@protocol.size_words}; " \
            "#{servers.empty? ? "no servers" : "servers to start: #{servers.join(", ")}"}."
        end

        def add(columns, comparison)
          rows = comparison.arms.select(&:row?)
          columns.row([comparison.value.name, rows.map { |arm| arm.operation.name }.uniq.join("/"), rows.size,
                       Report::Format.minutes(comparison.expected_seconds(@protocol)), stores(rows.map(&:name))])
        end

        def stores(names)
          return names.join(", ") if names.size <= MOST_STORES
          "#{names.first(NAMED_STORES).join(", ")} and #{names.size - NAMED_STORES} more"
        end
      end
    end
  end
end
