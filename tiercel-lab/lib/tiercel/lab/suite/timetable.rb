# frozen_string_literal: true

module Tiercel
  module Lab
    module Suite
      # Who may take how long in a quick run of all tables: it ends within {WHOLE_SECONDS}, whatever the machine is busy with.
      class Timetable
        # A quick run of everything, on two cores.
        WHOLE_SECONDS = 14.5 * 60
        # What the cells of one table may take together; they make fewer blocks where they are behind.
        CELL_SECONDS = 45
        # A table that takes longer than this is told to end, and shows what it has.
        TABLE_SECONDS = 150
        # With less than this left there is no point in beginning.
        LEAST_SECONDS = 15

        # @param quick [Boolean] a full run takes what it takes
        def initialize(quick:)
          @quick = quick
          @started = now
        end

        # @return [Array<String>] options of each table
        def options = @quick ? ["--budget", CELL_SECONDS.to_s] : []

        # @return [Numeric, nil] seconds the next table may take; nil: any
        def limit = @quick ? [TABLE_SECONDS, left].min : nil

        # @return [Boolean] whether the next table may begin
        def time_left? = !@quick || left >= LEAST_SECONDS

        private

        def left = WHOLE_SECONDS - (now - @started)

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
