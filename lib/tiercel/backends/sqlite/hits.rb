# frozen_string_literal: true

module Tiercel
  module Backends
    class SQLite < Backend
      # Keeps hits in memory until a later write stores them in the file: a read itself never writes.
      #
      # A row contains its own statistics, so most reads of a popular row are not recorded: only the first {MAX_HITS}
      # hits after a write, and then one hit per {#refresh_us}.
      class Hits
        # Further hits do not predict the next one better (S3-FIFO also counts up to 3).
        MAX_HITS = 3
        # Maximum number of recorded rows; further reads are not recorded.
        CAPACITY = 4_096

        # @return [Boolean] whether to record reads: only a nearly full file evicts
        attr_accessor :wanted
        # @return [Integer] microseconds; a last use before this time is recorded again
        attr_accessor :stale_before_us

        def initialize
          @noted = {}
          @wanted = false
          @stale_before_us = 0
        end

        # @param id [Integer]
        # @param row [Array] a result of {Connection#find}
        # @return [void]
        def note(id, row)
          return if row[Schema::HITS] >= MAX_HITS && row[Schema::USED_AT] >= @stale_before_us
          seen = @noted[id]
          @noted[id] = (seen || 0) + 1 if seen || @noted.size < CAPACITY
        end

        # Records a read that another tier answered. The statement `note_use` of {Schema} checks the row when the
        # record is stored.
        #
        # @param id [Integer]
        # @return [void]
        def note_used(id)
          @noted[id] ||= 1 if @noted.size < CAPACITY
        end

        # Removes the oldest records and returns them.
        #
        # @param limit [Integer]
        # @return [Array<Array(Integer, Integer)>] ids and their number of reads
        def take(limit)
          Array.new([limit, @noted.size].min) { @noted.shift }.compact # another thread may have emptied it
        end

        # @return [Boolean] whether there are records
        def any? = !@noted.empty?

        # @return [void]
        def forget = @noted.clear
      end
    end
  end
end
