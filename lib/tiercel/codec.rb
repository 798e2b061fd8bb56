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
  end
end
