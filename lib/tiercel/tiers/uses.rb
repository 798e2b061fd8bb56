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
      # The near tier's index is searched after this many reads of the last tier. A change counts as several reads.
      READS = 256
      READS_PER_CHANGE = 8
      # A search covers one entry for this many reads, up to a bound, and this many buckets for each entry.
      READS_PER_ENTRY = 4
      MOST_ENTRIES = 512
      BUCKETS = 8

      # @param segment [Segment] the near tier's segment
      # @param last [Backend]
      def initialize(segment, last)
        @segment = segment
        @last = last
        @count = 0
        @cursor = nil
      end

      # @param count [Integer] number of reads
      # @return [void]
      def read(count = 1)
        return if (@count += count) < READS
        entries = [@count / READS_PER_ENTRY, MOST_ENTRIES].min
        @count = 0
        tell(entries, entries * BUCKETS)
      end

      # @param count [Integer] number of keys
      # @return [void]
      def changed(count) = read(count * READS_PER_CHANGE)

      # Reports the used entries of a part of the index.
      #
      # @param entries [Integer] the approximate number of entries
      # @param buckets [Integer] the largest number of buckets
      # @return [void]
      def tell(entries, buckets)
        return unless @last.uses_wanted?
        @cursor, keys = @segment.used_keys(@cursor, entries, buckets)
        @last.used(keys) unless keys.empty?
      rescue BackendError
        @cursor = nil # the near tier's own calls report the failure
      end
    end
  end
end
