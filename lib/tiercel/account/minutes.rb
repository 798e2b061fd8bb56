# frozen_string_literal: true

require_relative "../counter"
require_relative "figures"

module Tiercel
  class Account
    # The last day, minute by minute: a ring of rows. Each row has all figures at the beginning of a minute, so the
    # difference of two rows is the activity between them. A minute with nothing but hits and writes of a segment has no
    # row; such figures are divided evenly among the minutes without rows.
    #
    # @private
    class Minutes
      ROWS = 1_441
      ROW_BYTES = 576
      BYTES = ROWS * ROW_BYTES
      FORMAT = "q<#{Figures::COUNT + 1}".freeze
      private_constant :FORMAT

      # @param medium [Book]
      # @param offset [Integer] the ring's place in the medium
      def initialize(medium, offset)
        @medium = medium
        @offset = offset
      end

      # @param minute [Integer] since the epoch
      # @param figures [Array<Integer>] the figures at the beginning of the minute
      # @return [void]
      def note(minute, figures)
        figures = figures.map { |figure| figure.clamp(Counter::MIN, Counter::MAX) } # altered bytes may exceed them
        @medium.pwrite([minute, *figures].pack(FORMAT), @offset + ((minute % ROWS) * ROW_BYTES))
      end

      # @param minute [Integer]
      # @return [Boolean] whether the minute has a row
      def noted?(minute) = @medium.pread(8, @offset + ((minute % ROWS) * ROW_BYTES)).unpack1("Q<") == minute

      # @param count [Integer] the number of minutes, at most 1,440
      # @param minute [Integer] the present minute, which is the last one
      # @param figures [Array<Integer>] the present figures
      # @param begun [Integer] the minute in which the account began
      # @return [Array<Array(Integer, Array<Integer>)>] minutes and their figures, oldest first
      def last(count, minute, figures, begun)
        points = rows(minute).reject { |at, _| at <= begun }.unshift([begun, [0] * Figures::COUNT])
        points << [minute + 1, figures]
        wanted = ((minute - count + 1)..minute)
        found = points.each_cons(2).flat_map { |from, to| between(from, to, wanted.first) }.to_h
        wanted.map { |at| [at, found[at] || [0] * Figures::COUNT] }
      end

      private

      def rows(minute)
        bytes = @medium.pread(BYTES, @offset)
        rows = Array.new(ROWS) { |index| bytes.byteslice(index * ROW_BYTES, ROW_BYTES).unpack(FORMAT) }
        rows.select! { |at, *| at.between?(minute - ROWS + 1, minute) }
        rows.map! { |at, *figures| [at, figures] }.sort_by!(&:first)
      end

      # A miss begins a row. So all misses between two rows happened in the first of these minutes. Omits the minutes
      # before `first`: an account that began before the machine's clock was set has millions of them.
      def between((from, before), (to, after), first)
        return [] if to <= from # the clock was moved back
        happened = after.zip(before).map { |now, earlier| [now - earlier, 0].max }
        return [[from, happened]] if to == from + 1
        shares = ([from, first].max...to).map { |at| [at, [0] * Figures::COUNT] }
        happened.each_with_index { |figure, index| share_out(figure, index, shares, from, to) unless figure.zero? }
        shares
      end

      # The last minute gets the remainder, so that the sum stays the same.
      def share_out(figure, index, shares, from, to)
        return shares.each { |at, figures| figures[index] = figure if at == from } unless Figures.spread?(index)
        part, rest = figure.divmod(to - from)
        shares.each { |_, figures| figures[index] = part }
        shares.last[1][index] += rest unless shares.empty?
      end
    end
  end
end
