# frozen_string_literal: true

require_relative "figures"

module Tiercel
  module Lab
    module Terminal
      # The first line: what a hit costs, and how many times faster that is than the others.
      class Headline
        # What is said first, where it was measured.
        OPERATIONS = %w[read fetch].freeze

        # @param cells [Array<Cell>] of the run
        def initialize(cells)
          @cells = cells
        end

        # @return [String]
        def to_s
          hero = self.hero
          return "Nothing could be measured." unless hero
          summary = hero.summary
          "#{hero.arm.operation.phrase.sub(/\A./, &:upcase)} costs #{Figures.us(summary.ns.estimate)} us " \
            "#{Figures.us_bounds(summary.ns)} with #{hero.arm.name} (#{hero.comparison.value.title})" \
            "#{comparisons(hero)}; floor #{floor}"
        end

        private

        # Tiercel where it takes part, else the first contestant, on the first value that has it.
        def hero
          measured = @cells.select { |cell| cell.arm.row? && cell.measured? && cell.summary }
          measured.min_by do |cell|
            [OPERATIONS.index(cell.arm.operation.name) || OPERATIONS.size, cell.arm.name.start_with?("tiercel") ? 0 : 1,
             @cells.index(cell)]
          end
        end

        def comparisons(hero)
          others = @cells.select do |cell|
            cell.comparison.equal?(hero.comparison) && cell.arm.row? && cell.measured? && !cell.equal?(hero)
          end
          return "" if others.empty?
          ": #{others.map { |cell| factor(hero, cell) }.join(", ")} here"
        end

        # By the ratios to the common baseline, which are of paired blocks.
        def factor(hero, other)
          "#{Figures.plain(to_baseline(other) / to_baseline(hero))}x as fast as #{other.arm.name}"
        end

        def to_baseline(cell) = cell.summary.ratio&.estimate || 1.0

        # The run's: its worst, as reports have it too.
        def floor
          floors = @cells.filter_map { |cell| cell.summary&.floor if cell.arm.role == :null }
          floors.any? ? Figures.percent(floors.max) : "not measured"
        end
      end
    end
  end
end
