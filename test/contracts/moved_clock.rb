# frozen_string_literal: true

require "tiercel"

module Tiercel
  module Contracts
    # Moves `Time.now` during a block. Outside the block `Time.now` is Ruby's own method.
    module MovedClock
      @offsets = []

      class << self
        # @param seconds [Numeric] negative to go back
        # @return [Object] the block's value
        def by(seconds)
          @offsets.push(seconds)
          redefine
          yield
        ensure
          @offsets.pop
          redefine
        end

        private

        def redefine
          remove_method(:now) if method_defined?(:now, false)
          return if @offsets.empty?
          offset = @offsets.sum
          define_method(:now) { |**options| super(**options) + offset }
        end
      end
    end

    Time.singleton_class.prepend(MovedClock)

    # Moves {Clock.monotonic} during a block: breakers, pauses, leases, trust and idle connections of this process.
    module MovedMonotonicClock
      @offset = 0

      class << self
        attr_reader :offset

        # @return [Object] the block's value
        def by(seconds)
          before = @offset
          @offset += seconds
          yield
        ensure
          @offset = before
        end

        # Within a block of {by}: until its end.
        def advance(seconds) = @offset += seconds
      end
    end

    # Not by `prepend`: a stub of Minitest copies the method that it replaces, and the copy's `super` would be itself.
    Clock.singleton_class.class_eval do
      alias_method :unmoved_monotonic, :monotonic
      def monotonic = unmoved_monotonic + MovedMonotonicClock.offset
    end
  end
end
