# frozen_string_literal: true

require_relative "../charts"
require_relative "../page"

module Tiercel
  class Web
    module Pages
      # The doctor's findings, numbers and charts of a period, and the key classes with the most expensive misses.
      #
      # @private
      class Overview < Page
        page "Overview", "overview"
        MOST_CLASSES = 8
        Tile = Struct.new(:name, :value, :note, :share)

        private

        def usual_period = "hour"

        def charts = @charts ||= figures.nil? || figures.minutes.empty? ? [] : Charts.new(figures).to_a
        def classes = figures.classes(MOST_CLASSES)

        def findings = report.findings.select(&:finding?)
        def unknown = report.findings.select { |finding| finding.status == :unknown }
        def sound = report.findings.select { |finding| finding.status == :sound }

        # Shows only numbers that the backend provides.
        def tiles
          return [] unless figures
          [hit_ratio, cost, waits, evictions, entries, room].compact
        end

        def hit_ratio
          reads = figures.hits + figures.misses
          note = "#{number(reads)} reads, #{number(figures.misses)} misses"
          Tile.new("Hit ratio", percent(figures.hits, reads), note, reads.zero? ? nil : figures.hits.fdiv(reads))
        end

        def cost
          return unless figures.of_period?
          Tile.new("Cost of misses", seconds(figures.block_seconds), "in #{number(figures.blocks)} blocks of fetch")
        end

        def waits
          waits = figures.lease_waits
          waited = " in #{seconds(figures.lease_wait_seconds)}" if figures.lease_wait_seconds.positive?
          Tile.new("Waits", number(waits), "for a value that another caller computes#{waited}; " \
                                           "#{number(figures.stale_hits)} stale answers")
        end

        def evictions = Tile.new("Evictions", number(figures.evictions), "entries removed to make space for others")

        def entries
          Tile.new("Entries", number(figures.entries), figures.entries_note) if figures.entries
        end

        def room
          used, whole = figures.room
          return Tile.new("Size", bytes(used), "of all entries") if used && !whole
          Tile.new("Room", percent(used, whole), "#{bytes(used)} of #{bytes(whole)} in use", used.fdiv(whole)) if used
        end
      end
    end
  end
end
