# frozen_string_literal: true

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
  end
end
