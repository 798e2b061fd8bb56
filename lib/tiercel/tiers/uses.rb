# frozen_string_literal: true

require_relative "../backend"

module Tiercel
  class Tiers < Backend
    # Tells the tier behind what is read near, where that one evicts by use: else it would evict what is read most, as
    # it is asked for that least.
    #
    # Nothing is done for a near hit. The segment counts the hits of its entries for its own eviction; who asks the tier
    # behind, and above all who writes into it (which is what makes it evict), looks through a part of the segment's
    # index from time to time, and passes on which of its entries were hit.
    #
    # @private
    class Uses
      # Between two looks; a change counts as much as several reads.
      CHANGES = 32
      READS = CHANGES * 8
      # The extent of one look: entries for each change since the last one, and buckets for each entry, as most may be
      # empty.
      ENTRIES = 2
      BUCKETS = 8
      # Changes that one look is for, after a long batch.
      MOST = CHANGES * 8

      # @param segment [Segment] of the near tier
      # @param far [Backend]
      def initialize(segment, far)
        @segment = segment
        @far = far
        @count = 0
        @cursor = nil
      end

      # @return [void]
      def read = (@count += 1) >= READS && look

      # @param count [Integer] of keys
      # @return [void]
      def changed(count) = (@count += count * (READS / CHANGES)) >= READS && look

      # Passes on which entries of a part of the index were hit.
      #
      # @param entries [Integer] about so many
      # @param buckets [Integer] at most
      # @return [void]
      def tell(entries, buckets)
        return unless @far.uses_wanted?
        @cursor, keys = @segment.used_keys(@cursor, entries, buckets)
        @far.used(keys) unless keys.empty?
      rescue BackendError
        @cursor = nil # the near tier's own calls report it
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
