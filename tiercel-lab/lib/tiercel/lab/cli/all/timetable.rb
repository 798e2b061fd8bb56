# frozen_string_literal: true

module Tiercel
  module Lab
    module CLI
      module All
        # The time limits of a run of all tables. The run ends in time on a busy machine too, and a table that hangs
        # does not stop the others.
        class Timetable
          # After `whole_seconds` no table begins, and the running one is stopped. After `table_seconds` a table is
          # stopped and shows its results so far. `cell_seconds` limits the cells of one table together (nil: no limit);
          # a late table makes fewer blocks.
          #
          # On two cores the plan is 13 minutes for a quick run of everything, an hour for a full run, and at most 13
          # minutes for a table of a full run. A busy machine may double them.
          QUICK = { whole_seconds: 14.5 * 60, table_seconds: 180, cell_seconds: 75 }.freeze
          FULL = { whole_seconds: 70 * 60, table_seconds: 18 * 60, cell_seconds: nil }.freeze
          # The cells' share of a table's time. The rest is for starting, verifying and summarizing.
          CELL_SHARE = 0.6
          # No table begins with less time than this.
          LEAST_SECONDS = 15

          # @param quick [Boolean]
          # @param minutes [Numeric, nil] limit of the whole run; nil: the limits above
          # @param clock [#call] monotonic seconds
          def initialize(quick:, minutes: nil, clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
            @whole, @table, @cells = (quick ? QUICK : FULL).values_at(:whole_seconds, :table_seconds, :cell_seconds)
            @whole = minutes * 60.0 if minutes
            @clock = clock
            @started = clock.call
          end

          # A quick run divides the remaining time among the remaining tables, in proportion to their planned times. On
          # a busy machine every table then makes fewer blocks, and none is left out.
          #
          # @param share [Float] the next table's share of the remaining plan
          # @return [Hash{Symbol => Array<String>}] options for the table
          def options(share = 1.0)
            @cells ? { budget: ["--budget", [@cells, limit(share) * CELL_SHARE].min.round.to_s] } : {}
          end

          # @return [Numeric] time limit of the next table in seconds
          def limit(share = 1.0) = [@table, @cells ? left * share : left].min

          # @return [Boolean] whether the next table may begin
          def time_left? = left >= LEAST_SECONDS

          # @return [String] the reason why a table did not begin
          def no_time = format("no time was left: no table begins after %g minutes", @whole / 60)

          private

          def left = @whole - (@clock.call - @started)
        end
      end
    end
  end
end
