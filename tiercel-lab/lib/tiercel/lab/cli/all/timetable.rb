# frozen_string_literal: true

module Tiercel
  module Lab
    module CLI
      module All
        # Which table may take how long in a run of all: the run ends in time, whatever the machine is busy with, and a
        # table that hangs does not take the others with it.
        class Timetable
          # After `whole_seconds` no table begins, and the one that runs is told to end; after `table_seconds` a table
          # is told to end, and shows what it has. The cells of one table may take `cell_seconds` together, in fewer
          # blocks where they are behind (nil: as each table has it).
          #
          # On two cores a quick run of everything is planned to take ten minutes, a full one an hour. No table of a
          # full run is planned to take more than ten; on a busy machine that may double.
          QUICK = { whole_seconds: 14.5 * 60, table_seconds: 180, cell_seconds: 45 }.freeze
          FULL = { whole_seconds: 65 * 60, table_seconds: 18 * 60, cell_seconds: nil }.freeze
          # Of a table's time, for cells: it also starts, looks at values and summarizes.
          CELL_SHARE = 0.6
          # With less than this left there is no point in beginning.
          LEAST_SECONDS = 15

          # @param quick [Boolean]
          # @param minutes [Numeric, nil] for the whole, in place of what is said above
          # @param clock [#call] monotonic seconds
          def initialize(quick:, minutes: nil, clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
            @whole, @table, @cells = (quick ? QUICK : FULL).values_at(:whole_seconds, :table_seconds, :cell_seconds)
            @whole = minutes * 60.0 if minutes
            @clock = clock
            @started = clock.call
          end

          # A quick run shares the time that is left among the tables that are left, by what they are planned to take:
          # beside other programs each of them has fewer blocks, and none is left out.
          #
          # @param share [Float] of the next table among those that are left
          # @return [Hash{Symbol => Array<String>}] options of each table that uses them
          def options(share = 1.0)
            @cells ? { budget: ["--budget", [@cells, limit(share) * CELL_SHARE].min.round.to_s] } : {}
          end

          # @return [Numeric] seconds the next table may take
          def limit(share = 1.0) = [@table, @cells ? left * share : left].min

          # @return [Boolean] whether the next table may begin
          def time_left? = left >= LEAST_SECONDS

          # @return [String] why a table was not begun
          def no_time = format("no time was left: no table begins after %g minutes", @whole / 60)

          private

          def left = @whole - (@clock.call - @started)
        end
      end
    end
  end
end
