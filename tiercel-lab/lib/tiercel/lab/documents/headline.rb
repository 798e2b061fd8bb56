# frozen_string_literal: true

require_relative "table"
require_relative "../operations"

module Tiercel
  module Lab
    module Documents
      # The first line of a comparison of stores: what a hit costs with the fastest, and how many times faster that is
      # than the others, where it is. Where nobody is the fastest, the first of those that may be stands there.
      class Headline < Table
        # What is said first, where it was measured.
        OPERATIONS = %w[read fetch].freeze

        # @return [String]
        def to_s
          cells = first_comparison or return "Nothing could be measured."
          leader = self.leader(cells)
          hero = leader.first
          "#{phrase(hero)} costs #{us(hero)} with #{name(hero)} (#{title_of(hero["value"])})" \
            "#{others(leader, hero, cells - [hero])}; floor #{worst_floor || "not measured"}"
        end

        private

        def first_comparison
          groups = cells.select { |cell| keeper?(cell) }.group_by { |cell| cell["comparison"] }.values
          groups.min_by.with_index do |group, index|
            [OPERATIONS.index(group.first["operation"]) || OPERATIONS.size, index]
          end
        end

        def keeper?(cell) = measured?(cell) && cell["contestant"]["keeps"] != false

        def phrase(cell) = Operations.fetch(cell["operation"]).phrase.sub(/\A./, &:upcase)

        def us(cell)
          ns = interval(cell["summary"]["ns"])
          "#{Terminal::Figures.us(ns.estimate)} us #{Terminal::Figures.us_bounds(ns)}"
        end

        def others(leader, hero, cells)
          return "" if cells.empty?
          ": #{cells.map { |cell| compared(leader, hero, cell) }.join(", ")} here"
        end

        def compared(leader, hero, cell)
          case leader.verdict(hero, cell)
          when :faster, :slower
            "#{Terminal::Figures.plain(leader.factor(hero, cell))}x as fast as #{name(cell)}"
          when :same then "the same as #{name(cell)}"
          else "not to be told from #{name(cell)}"
          end
        end
      end
    end
  end
end
