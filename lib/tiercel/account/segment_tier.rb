# frozen_string_literal: true

require_relative "figures"

module Tiercel
  class Account
    # A tier in shared memory, which counts its own reads and writes. The account adds the segment's present figures to
    # its own. A segment that replaces another begins at zero, so the account keeps the last known figures of the old
    # one.
    #
    # @private
    class SegmentTier
      # The names in {Figures::TIER}, with the names in `Segment#counters`.
      COUNTED = { hits: :served, writes: :writes, deletes: :deletes, resets: :resets, lock_takeovers: :lock_takeovers,
                  **Figures::EVICTIONS[..-2].to_h { |name| [name, name] } }.freeze
      # The same names for the figures that a segment counts for each process separately.
      COUNTED_HERE = { hits: :served_here, writes: :writes_here, deletes: :deletes_here }.freeze
      # The place in the counters' page of each tier's words: the segment's id, then its last known figures.
      SEEN_AT = 128
      SEEN_ROOM = 16
      # A larger figure comes from bytes of the segment that another program has altered, and counts as 0.
      LARGEST = 2**53
      private_constant :COUNTED, :COUNTED_HERE, :SEEN_AT, :SEEN_ROOM, :LARGEST

      # @return [Integer] the tier's number
      attr_reader :number

      # @param backend [Backends::SegmentBackend]
      # @param number [Integer] the tier's number
      def initialize(backend, number)
        @segment = backend.segment
        @number = number
        @seen_at = SEEN_AT + (number * SEEN_ROOM)
      end

      # Adds the segment's present figures.
      #
      # @param figures [Array<Integer>]
      # @return [void]
      def add_to(figures) = add(figures, COUNTED)

      # Adds the figures of this process alone.
      def add_own_to(figures) = add(figures, COUNTED_HERE)

      # Stores the segment's present figures in the account. The caller holds the account's lock.
      #
      # @param page [#load, #store] the account's counters
      # @param figures_at [Integer] the place of the first figure
      # @return [void]
      def keep_up(page, figures_at)
        counters = counted or return
        id = counters[:file_id] & 0x7FFF_FFFF_FFFF_FFFF
        before = page.load(@seen_at)
        COUNTED.each_with_index do |(name, of_segment), index|
          at = @seen_at + 1 + index
          at_figure = figures_at + Figures.of_tier(@number, name)
          page.add_silently(at_figure, page.load(at)) unless before.zero? || before == id
          page.store(at, plausible(counters[of_segment]))
        end
        page.store(@seen_at, id)
      end

      # Called in a child. Does nothing, because the child gets its own process slot in the segment.
      def forked; end

      private

      def add(figures, names)
        counters = counted or return
        names.each { |name, of_segment| figures[Figures.of_tier(@number, name)] += plausible(counters[of_segment]) }
      end

      def plausible(figure) = figure <= LARGEST ? figure : 0

      def counted
        @segment.counters
      rescue BackendError
        nil
      end
    end
  end
end
