# frozen_string_literal: true

require_relative "../backend"

module Tiercel
  class Tiers < Backend
    # Reports near hits to a last tier that evicts by use. Otherwise the last tier would evict the entries that are read
    # most, since near hits do not reach it.
    #
    # A near hit costs nothing for this. The segment counts the hits of its entries for its own eviction. Every few
    # changes or reads of the last tier, the caller looks through a part of the segment's index and reports the entries
    # that were hit.
    #
    # @private
    class Uses
      # Between two looks; a change counts as much as several reads.
      CHANGES = 32
      READS = CHANGES * 8
      # Entries that a look covers for each change since the last look, and buckets for each entry: most buckets may be
      # empty.
      ENTRIES = 2
      BUCKETS = 8
      # Changes that one look covers at most, after a long batch.
      MOST = CHANGES * 8

      # @param segment [Segment] of the near tier
      # @param last [Backend]
      def initialize(segment, last)
        @segment = segment
        @last = last
        @count = 0
        @cursor = nil
      end

      # @return [void]
      def read = (@count += 1) >= READS && look

      # @param count [Integer] of keys
      # @return [void]
      def changed(count) = (@count += count * (READS / CHANGES)) >= READS && look

      # Reports the used entries of a part of the index.
      #
      # @param entries [Integer] about so many
      # @param buckets [Integer] at most
      # @return [void]
      def tell(entries, buckets)
        return unless @last.uses_wanted?
        @cursor, keys = @segment.used_keys(@cursor, entries, buckets)
        @last.used(keys) unless keys.empty?
      rescue BackendError
        @cursor = nil # the near tier's own calls report the failure
      end

      private

      def look
        entries = [@count * CHANGES / READS, MOST].min * ENTRIES
        @count = 0
        tell(entries, entries * BUCKETS)
      end
    end
  end
end
