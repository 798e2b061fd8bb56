# frozen_string_literal: true

# The signals that {Coder#load_value} and the C extension for frames and plain data, {CodecExt}, return.
module Tiercel::Codec
  # A result in place of a value. A stored value is never a signal, so a caller checks `Codec::Signal === result`.
  class Signal
    # @param name [String] the name that {#inspect} shows
    def initialize(name)
      @name = name
    end

    # @return [String]
    def inspect = "#{Tiercel::Codec}::#{@name}"
  end

  # MISS for no usable value, EXPIRED for an expired entry, SLOW for a frame that only {Coder#load} can decode. The C
  # extension returns FALLBACK if Ruby code has to decode the frame.
  MISS, EXPIRED, SLOW, FALLBACK = %w[MISS EXPIRED SLOW FALLBACK].map { |name| Signal.new(name).freeze }
end
