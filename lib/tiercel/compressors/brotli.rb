# frozen_string_literal: true

require "brotli"

module Tiercel
  # Brotli streams (RFC 7932).
  class Compressors::Brotli
    include Compressors::Bounds

    LEVELS = (0..11)
    # The library's default, 11, takes a hundred times as long.
    DEFAULT_LEVEL = 5

    # @param level [Integer, nil] 0 (fast) to 11 (small); nil is 5
    def initialize(level: nil)
      unless level.nil? || (level.is_a?(Integer) && LEVELS.cover?(level))
        raise ArgumentError, "level: expected an Integer from 0 to 11, got #{Redacted.text(level)}"
      end
      @level = level || DEFAULT_LEVEL
    end

    # @return [Integer] in the frame's header
    def id = Frame::Layout::COMPRESSOR_BROTLI

    # @param bytes [String]
    # @return [String]
    def deflate(bytes) = ::Brotli.deflate(bytes, quality: @level)

    # @param bytes [String]
    # @param inflated_bytes [Integer, nil] the size claimed by the frame
    # @param limit [Integer] bytes
    # @return [String] binary
    # @raise [MalformedFrame] if they are damaged, or inflate to more than `limit` or not to `inflated_bytes`
    def inflate(bytes, inflated_bytes: nil, limit: DEFAULT_LIMIT)
      check_claim(inflated_bytes, limit)
      stream = ::Brotli::Decompressor.new
      inflated = stream.process(bytes, output_buffer_limit: (inflated_bytes || limit) + 1)
      check_claim(inflated.bytesize, inflated_bytes || limit)
      unless stream.finished? && stream.unused_data.empty?
        raise MalformedFrame, "a brotli payload is truncated, or followed by foreign bytes"
      end
      check_size(inflated.force_encoding(Encoding::BINARY), inflated_bytes)
    rescue ::Brotli::Error, NoMemoryError => error
      damaged("brotli", error)
    end
  end
end
