# frozen_string_literal: true

require "zlib"
require_relative "codec/signals"

Tiercel::Extensions.load("codec")

module Tiercel
  # The C extension for frames and plain data.
  #
  # @private
  module Codec
    # @return [Module] the extension
    def self.native = CodecExt

    # The module with `crc32(bytes, crc)`, which continues the CRC-32 (RFC 1952) of earlier bytes. The extension has
    # this method if it was built with zlib's headers. On processors with carry-less multiplication the extension is
    # several times as fast as Zlib.
    CHECKSUMS = CodecExt.respond_to?(:crc32) ? CodecExt : Zlib
  end
end
