# frozen_string_literal: true

require "zlib"

module Tiercel
  # Deflate as a zlib stream (RFC 1950), from Ruby's standard library.
  class Compressors::Zlib
    include Compressors::Bounds

    # @param level [Integer, nil] 1 (fast) to 9 (small); nil for zlib's default, 6
    def initialize(level: nil)
      unless level.nil? || (0..9).cover?(level)
        raise ArgumentError, "level: expected an Integer from 0 to 9, got #{Redacted.text(level)}"
      end
      @level = level || ::Zlib::DEFAULT_COMPRESSION
    end

    # @return [Integer] in the frame's header
    def id = Frame::Layout::COMPRESSOR_ZLIB

    # @param bytes [String]
    # @return [String]
    def deflate(bytes) = ::Zlib::Deflate.deflate(bytes, @level)

    # @param bytes [String]
    # @param inflated_bytes [Integer, nil] the size claimed by the frame
    # @param limit [Integer] bytes
    # @return [String] binary
    # @raise [MalformedFrame] if they are damaged, or inflate to more than `limit` or not to `inflated_bytes`
    def inflate(bytes, inflated_bytes: nil, limit: DEFAULT_LIMIT)
      check_claim(inflated_bytes, limit)
      check_size(inflate_within(bytes, inflated_bytes || limit), inflated_bytes)
    rescue ::Zlib::Error => error
      damaged("zlib", error)
    end

    private

    # Ruby yields the output in pieces, so the limit is checked before the next piece is inflated.
    def inflate_within(bytes, limit)
      stream = ::Zlib::Inflate.new
      inflated = String.new
      stream.inflate(bytes) do |piece|
        inflated << piece
        next if inflated.bytesize <= limit
        raise MalformedFrame, "a zlib payload inflates to more than #{Sizes.human(limit)}"
      end
      unless stream.finished? && stream.total_in == bytes.bytesize
        raise MalformedFrame, "a zlib payload is truncated, or followed by foreign bytes"
      end
      inflated
    ensure
      stream&.reset # closing an unfinished stream would warn
      stream&.close
    end
  end
end
