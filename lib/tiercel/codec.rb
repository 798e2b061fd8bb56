# frozen_string_literal: true

require "zlib"
require_relative "clock"
require_relative "codec/signals"
require_relative "errors"
require_relative "extensions"

module Tiercel
  # Loads the C extension for frames and plain data, if it was built. Without it the same work is done in Ruby. Each
  # form reads frames that the other wrote.
  #
  # @private
  module Codec
    # @return [Module, nil] the extension
    def self.native = NATIVE

    NATIVE = Extensions.load("codec") ? CodecExt : nil
    # Has `crc32(bytes, crc)`: the CRC-32 (RFC 1952) of bytes that follow others with the checksum `crc`. On
    # processors with carry-less multiplication the extension is several times as fast as Zlib.
    CHECKSUMS = NATIVE.respond_to?(:crc32) ? NATIVE : Zlib
    private_constant :NATIVE
  end
end
