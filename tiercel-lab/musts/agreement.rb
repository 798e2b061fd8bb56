# frozen_string_literal: true

require "tiercel/lab/cli"

module Tiercel::Lab
  module Tables
    # Compares the verdicts of a quick run of all tables with a full run: whether the quick run calls the cells that
    # differ clearly.
    class Agreement
      # Ratios beyond this factor, in either direction, differ clearly.
      FACTOR = 1.25
      # The largest share of these that a quick run may leave undecided.
      MOST_UNDECIDED = 0.1
      # The longest quick run.
      MOST_SECONDS = 15 * 60
      OPPOSITE = { faster: %w[slower same], slower: %w[faster same] }.freeze

      # A cell that both runs measured: its table and id, the full run's ratio, and the quick run's verdict.
      Pair = Data.define(:table, :id, :ratio, :verdict) do
        # @return [Symbol, nil] the true verdict; nil for a cell that does not differ clearly
        def truth
          return :slower if ratio >= FACTOR
          :faster if ratio <= 1 / FACTOR
        end

        def undecided? = verdict == "cannot_tell"
        def wrong? = OPPOSITE.fetch(truth).include?(verdict)
        def to_s = "#{table}: #{id}: #{ratio.round(3)}x in the full run, #{verdict.tr("_", " ")} in the quick run"
      end

      # @param full [Hash{String => Object}] results of `all`
      # @param quick [Hash{String => Object}] results of `all --quick`
      def initialize(full, quick)
        @full = full
        @quick = quick
      end

      # @return [Array<Pair>] cells that differ clearly
      def clear = @clear ||= pairs.select(&:truth)

      def undecided = clear.select(&:undecided?)

      def wrong = clear.select(&:wrong?)

      # @return [Array<String>] tables without results in the quick run
      def missing = parts(@full).keys - parts(@quick).select { |_, part| part["results"] }.keys

      # @return [Array<String>] tables that the quick run has ended early
      def shortened = parts(@quick).select { |_, part| part["results"] && part["state"] != "complete" }.keys

      # @return [Float] duration of the quick run
      def seconds = parts(@quick).each_value.sum { |part| part["seconds"] }

      # @return [Boolean]
      def holds?
        clear.any? && undecided.size <= clear.size * MOST_UNDECIDED && wrong.empty? && missing.empty? &&
          seconds <= MOST_SECONDS
      end

      # @return [Array<String>] the figures, then every cell that is undecided or wrong
      def lines
        ["#{pairs.size} of #{cells(@quick).size} cells of the quick run are in the full run too.",
         "#{clear.size} of them differ there by more than #{FACTOR}x.",
         "Undecided in the quick run: #{undecided.size}#{share}; at most #{(MOST_UNDECIDED * 100).round} % may be.",
         "Called wrongly: #{wrong.size}.",
         "Tables that are missing: #{words(missing)}; that were ended early: #{words(shortened)}.",
         "The quick run took #{seconds.round} s; at most #{MOST_SECONDS} s.",
         *wrong.map { |pair| "wrong: #{pair}" }, *undecided.map { |pair| "undecided: #{pair}" }]
      end

      private

      def words(tables) = tables.empty? ? "none" : tables.join(", ")
      def share = clear.any? ? " (#{(100.0 * undecided.size / clear.size).round(1)} %)" : ""

      def pairs
        @pairs ||= cells(@quick).filter_map do |(table, id), cell|
          other = cells(@full)[[table, id]] or next
          Pair.new(table:, id: id.join(", "), ratio: other.dig("summary", "ratio", "estimate"),
                   verdict: cell.dig("summary", "verdict"))
        end
      end

      # @return [Hash{Array => Hash}] cells with a verdict, by table, id and baseline
      def cells(results)
        parts(results).flat_map do |table, part|
          comparisons_of(part).flat_map do |baseline, *others|
            others.select { |cell| cell["role"] == "contestant" && cell.dig("summary", "verdict") }
                  .map { |cell| [[table, [cell["id"], baseline["id"]]], cell] }
          end
        end.to_h
      end

      # A comparison begins with its baseline. Several may have the same name.
      def comparisons_of(part)
        part.dig("results", "cells").to_a.slice_when { |_cell, other| other["role"] == "baseline" }
      end

      def parts(results) = results.fetch("parts", []).to_h { |part| [part["name"], part] }
    end
  end
end
