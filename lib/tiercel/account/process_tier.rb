# frozen_string_literal: true

require_relative "figures"

module Tiercel
  class Account
    # A tier that counts by itself, for this process alone: `memory:` its reads and writes, `file:` and `sqlite:` their
    # evictions. The process adds these figures to the account now and then.
    #
    # @private
    class ProcessTier
      # Names of {Figures::TIER}, and of `Segment#counters`.
      OF_SEGMENT = { hits: :served, writes: :writes, deletes: :deletes, resets: :resets,
                     **Figures::EVICTIONS[..-2].to_h { |name| [name, name] } }.freeze
      private_constant :OF_SEGMENT

      # @return [Integer] of the tier
      attr_reader :number

      # @param backend [Backend]
      # @param number [Integer] of the tier
      def initialize(backend, number)
        @backend = backend
        @segment = backend.segment if backend.respond_to?(:segment)
        @number = number
        @handed_over = @before = {}
      end

      # @param figures [Array<Integer>] to which those are added that are not handed over
      # @return [void]
      def add_to(figures) = add(figures, @handed_over)

      # The same of all that this process has done.
      def add_own_to(figures) = add(figures, @before)

      # Called now and then, under the account's lock.
      #
      # @param page [#add_silently] the account's counters
      # @param figures_at [Integer] where the figures begin in it
      # @return [void]
      def keep_up(page, figures_at)
        now = counted
        now.each do |name, figure|
          more = figure - @handed_over.fetch(name, 0)
          page.add_silently(figures_at + Figures.of_tier(@number, name), more) unless more.zero?
        end
        @handed_over = now
      end

      # Called in a child: what it has a copy of is its parent's.
      def forked
        @handed_over = @before = counted
      end

      private

      def add(figures, before)
        counted.each { |name, figure| figures[Figures.of_tier(@number, name)] += figure - before.fetch(name, 0) }
      end

      def counted
        return { other_evictions: @backend.evictions } unless @segment
        counters = @segment.counters
        OF_SEGMENT.transform_values { |name| counters.fetch(name, 0) }
      end
    end
  end
end
