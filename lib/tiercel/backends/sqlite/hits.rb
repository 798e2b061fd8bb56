# frozen_string_literal: true

module Tiercel
  module Backends
    class SQLite < Backend
      # Reads that the file should know of, kept in memory until a later write
      # takes them along: reading never writes.
      #
      # A row says itself what is known of it, so a read of a popular row notes
      # nothing: only the first {MAX_HITS} hits after a write count, and after
      # that one note per {#refresh_us}.
      class Hits
        # More hits than these tell nothing about the next one (S3-FIFO counts to 3 as well).
        MAX_HITS = 3
        # Rows that are noted at a time; a read beyond is forgotten.
        CAPACITY = 4_096

        # @return [Boolean] whether reads are worth noting: only a file that is nearly full evicts
        attr_accessor :wanted
        # @return [Integer] microseconds; a use before that moment is to be noted again
        attr_accessor :stale_before_us

        def initialize
          @noted = {}
          @wanted = false
          @stale_before_us = 0
        end

        # @param id [Integer]
        # @param row [Array] of {Connection#find}
        # @return [void]
        def note(id, row)
          return if row[Schema::HITS] >= MAX_HITS && row[Schema::USED_AT] >= @stale_before_us
          seen = @noted[id]
          @noted[id] = (seen || 0) + 1 if seen || @noted.size < CAPACITY
        end

        # Notes a read that the file was not asked for. What its row says is seen when the note is taken along: see
        # {Schema}, `note_use`.
        #
        # @param id [Integer]
        # @return [void]
        def note_used(id)
          @noted[id] ||= 1 if @noted.size < CAPACITY
        end

        # Takes the oldest notes out.
        #
        # @param limit [Integer]
        # @return [Array<Array(Integer, Integer)>] ids and how often they were read
        def take(limit)
          Array.new([limit, @noted.size].min) { @noted.shift }.compact # another thread may have been quicker
        end

        # @return [Boolean] whether there are notes to take
        def any? = !@noted.empty?

        # @return [void]
        def forget = @noted.clear
      end
    end
  end
end
