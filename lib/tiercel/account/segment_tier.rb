# frozen_string_literal: true

require_relative "figures"

module Tiercel
  class Account
    # A tier in shared memory, which counts by itself: its figures stand beside those of the account. A segment that is
    # put in the place of another one begins at zero; what was last seen of the old one is added to the account.
    #
    # @private
    class SegmentTier
      # Names of {Figures::TIER}, and of `Segment#counters`.
      COUNTED = { hits: :served, writes: :writes, deletes: :deletes, resets: :resets, lock_takeovers: :lock_takeovers,
                  **Figures::EVICTIONS[..-2].to_h { |name| [name, name] } }.freeze
      # The same of those that a segment knows of each process.
      COUNTED_HERE = { hits: :served_here, writes: :writes_here, deletes: :deletes_here }.freeze
      # Words in the counters' page, for each tier: the segment's id, and what was last seen of each figure.
      SEEN_AT = 128
      SEEN_ROOM = 16
      private_constant :COUNTED, :COUNTED_HERE, :SEEN_AT, :SEEN_ROOM

      # @return [Integer] of the tier
      attr_reader :number

      # @param backend [Backends::SegmentBackend]
      # @param number [Integer] of the tier
      def initialize(backend, number)
        @segment = backend.segment
        @number = number
        @seen_at = SEEN_AT + (number * SEEN_ROOM)
      end

      # @param figures [Array<Integer>] to which the segment's are added
      # @return [void]
      def add_to(figures)
        counters = counted or return
        COUNTED.each { |name, of_segment| figures[Figures.of_tier(@number, name)] += counters[of_segment] }
      end

      # The same of this process alone.
      def add_own_to(figures)
        counters = counted or return
        COUNTED_HERE.each do |name, of_segment|
          figures[Figures.of_tier(@number, name)] += counters[of_segment]
        end
      end

      # Called now and then, under the account's lock.
      #
      # @param page [#load, #store] the account's counters
      # @param figures_at [Integer] where the figures begin in it
      # @return [void]
      def keep_up(page, figures_at)
        counters = counted or return
        id = counters[:file_id] & 0x7FFF_FFFF_FFFF_FFFF
        before = page.load(@seen_at)
        COUNTED.each_with_index do |(name, of_segment), index|
          at = @seen_at + 1 + index
          at_figure = figures_at + Figures.of_tier(@number, name)
          page.add_silently(at_figure, page.load(at)) unless before.zero? || before == id
          page.store(at, counters[of_segment])
        end
        page.store(@seen_at, id)
      end

      # Called in a child, which gets a slot of its own in the segment.
      def forked; end

      private

      def counted
        @segment.counters
      rescue BackendError
        nil
      end
    end
  end
end
