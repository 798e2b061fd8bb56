# frozen_string_literal: true

module Tiercel
  module Codec
    # What is said where there is no value to answer with. Nothing that was stored is ever one, so a caller asks
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

    # What {Coder#load_value} answers where there is no value: nothing usable;
    # an entry whose time is over; a frame that {Coder#load} has to look at.
    # FALLBACK is what the C extension says where the Ruby form has to look.
    MISS, EXPIRED, SLOW, FALLBACK = %w[MISS EXPIRED SLOW FALLBACK].map { |name| Signal.new(name) }
  end
end
