# frozen_string_literal: true

module Tiercel
  # LZ4 blocks after their size as a base-128 number, low digits first. This is the format of the gems lz4-ruby and
  # lz4_flex. The C extension calls the system's liblz4.
  class Compressors::LZ4
    include Compressors::Bounds

    # @return [Boolean] whether the system has the library
    def self.available? = CodecExt.respond_to?(:lz4_deflate)

    def initialize
      return if self.class.available?
      raise MissingDependency, "compressor :lz4 needs the library liblz4.so.1, which this system does not have. " \
                               "Install it (Debian: liblz4-1, Alpine: lz4-libs), or use compressor: :zlib"
    end

    # @return [Integer] in the frame's header
    def id = Frame::Layout::COMPRESSOR_LZ4

    # @param bytes [String]
    # @return [String]
    def deflate(bytes) = CodecExt.lz4_deflate(bytes)

    # @param bytes [String]
    # @param inflated_bytes [Integer, nil] the size claimed by the frame
    # @param limit [Integer] bytes
    # @return [String] binary
    # @raise [MalformedFrame] if they are damaged, or inflate to more than `limit` or not to `inflated_bytes`
    def inflate(bytes, inflated_bytes: nil, limit: DEFAULT_LIMIT)
      claimed, position = leading_size(bytes, "an lz4")
      check_claim(claimed, limit)
      inflated = CodecExt.lz4_inflate(bytes, position, claimed) if claimed == (inflated_bytes || claimed)
      return inflated if inflated
      raise MalformedFrame, "an lz4 payload is not the #{inflated_bytes || claimed} bytes it claims to be"
    rescue NoMemoryError => error
      damaged("lz4", error)
    end
  end
end
