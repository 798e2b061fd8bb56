# frozen_string_literal: true

require "zlib"
require_relative "clock"
require_relative "codec/signals"
require_relative "errors"
require_relative "extensions"

module Tiercel
  # The C form of frames and plain data, where it is built. Everything works
  # without it, in Ruby, and both forms read what the other wrote.
  #
  # @private
  module Codec
    # @return [Module, nil] the extension
    def self.native = NATIVE

    NATIVE = Extensions.load("codec") ? CodecExt : nil
    # The maker of checksums: the extension needs a fraction of Zlib's time where the processor can fold.
    CHECKSUMS = NATIVE.respond_to?(:crc32) ? NATIVE : Zlib
    private_constant :NATIVE, :CHECKSUMS

    # @param bytes [String]
    # @param crc [Integer] the checksum of what comes before them
    # @return [Integer] their CRC-32 (RFC 1952), what Zlib.crc32 gives
    def self.crc32(bytes, crc = 0) = CHECKSUMS.crc32(bytes, crc)
  end
end
