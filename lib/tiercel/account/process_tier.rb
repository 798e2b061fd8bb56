# frozen_string_literal: true

require_relative "figures"

module Tiercel
  class Account
    # A tier that counts for this process alone: `memory:` counts its reads and writes, `file:` and `sqlite:` count
    # their evictions. The process adds these figures to the account about once a minute.
    #
    # @private
    class ProcessTier
      # The names in {Figures::TIER}, with the names in `Segment#counters`.
      OF_SEGMENT = { hits: :served, writes: :writes, deletes: :deletes, resets: :resets,
                     **Figures::EVICTIONS[..-2].to_h { |name| [name, name] } }.freeze
      private_constant :OF_SEGMENT

      # @return [Integer] the tier's number
      attr_reader :number

      # @param backend [Backend]
      # @param number [Integer] the tier's number
      def initialize(backend, number)
        @backend = backend
        @segment = backend.segment if backend.respond_to?(:segment)
        @number = number
        @handed_over = @before = {}
      end

      # Adds the counts that the account does not have yet.
      #
      # @param figures [Array<Integer>]
      # @return [void]
      def add_to(figures) = add(figures, @handed_over)

      # Adds all counts of this process.
      def add_own_to(figures) = add(figures, @before)

      # Hands the new counts over to the account. The caller holds the account's lock.
      #
      # @param page [#add_silently] the account's counters
      # @param figures_at [Integer] the place of the first figure
      # @return [void]
      def keep_up(page, figures_at)
        now = counted
        now.each do |name, figure|
          more = figure - @handed_over.fetch(name, 0)
          page.add_silently(figures_at + Figures.of_tier(@number, name), more) unless more.zero?
        end
        @handed_over = now
      end

      # Called in a child: the present counts belong to its parent.
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
