# frozen_string_literal: true

require_relative "figures"
require_relative "table"
require_relative "../session"

module Tiercel
  module Lab
    module Terminal
      # What would be measured, and how long that takes.
      class PlanReport
        # @param comparisons [Array<Comparison>]
        # @param protocol [Protocol]
        def initialize(comparisons, protocol:)
          @comparisons = comparisons
          @protocol = protocol
        end

        # @param style [Style]
        # @return [String]
        def to_s(style = Style.new(nil))
          table = Table.new([["value", :left], ["operation", :left], ["cells", :right], ["expected", :right],
                             ["stores", :left]])
          @comparisons.each { |comparison| add(table, comparison) }
          "#{sentence}\n\n#{table.to_s(style)}"
        end

        private

        def sentence
          cells = @comparisons.sum { |comparison| comparison.arms.count(&:row?) }
          servers = @comparisons.flat_map(&:servers).uniq
          "#{cells} cells in about #{Figures.duration(Session.expected_seconds(@comparisons, @protocol))}: " \
            "#{@protocol.size_words}; " \
            "#{servers.empty? ? "no servers" : "servers to start: #{servers.join(", ")}"}."
        end

        def add(table, comparison)
          rows = comparison.arms.select(&:row?)
          table.row([comparison.value.name, rows.map { |arm| arm.operation.name }.uniq.join("/"), rows.size,
                     Figures.duration(comparison.expected_seconds(@protocol)), rows.map(&:name).join(", ")])
        end
      end
    end
  end
end
