# frozen_string_literal: true

module Tiercel
  module Codec
    # Answers in place of a value. No stored value is ever a signal, so a caller asks
    # `Codec::Signal === answer` and has a value otherwise.
    class Signal
      # @param name [String] for {#inspect}
      def initialize(name)
        @name = name
        freeze
      end

      # @return [String]
      def inspect = "#{Codec}::#{@name}"
    end

    # The answers of {Coder#load_value} without a value: nothing usable;
    # an entry whose time is over; a frame that {Coder#load} has to look at.
    # FALLBACK is what the C extension says where the Ruby form has to look.
    MISS, EXPIRED, SLOW, FALLBACK = %w[MISS EXPIRED SLOW FALLBACK].map { |name| Signal.new(name) }
  end
end
