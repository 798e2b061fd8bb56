# frozen_string_literal: true

require "snappy"

module Tiercel
  # Snappy blocks, which begin with their inflated size as a base-128 number.
  class Compressors::Snappy
    include Compressors::Bounds

    # @return [Integer] in the frame's header
    def id = Frame::Layout::COMPRESSOR_SNAPPY

    # @param bytes [String]
    # @return [String]
    def deflate(bytes) = ::Snappy.deflate(bytes)

    # The library allocates the claimed size once and never writes beyond it.
    #
    # @param bytes [String]
    # @param inflated_bytes [Integer, nil] the size claimed by the frame
    # @param limit [Integer] bytes
    # @return [String] binary
    # @raise [MalformedFrame] if they are damaged, or inflate to more than `limit` or not to `inflated_bytes`
    def inflate(bytes, inflated_bytes: nil, limit: DEFAULT_LIMIT)
      claimed, = leading_size(bytes, "a snappy")
      check_claim(claimed, inflated_bytes || limit)
      check_claim(claimed, limit)
      check_size(::Snappy.inflate(bytes), inflated_bytes || claimed)
    rescue ::Snappy::Error, NoMemoryError => error
      damaged("snappy", error)
    end
  end
end
