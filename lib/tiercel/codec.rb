# frozen_string_literal: true

require_relative "clock"
require_relative "coder/signals"
require_relative "errors"

module Tiercel
  # The C form of frames and plain data, where it is built. Everything works
  # without it, in Ruby, and both forms read what the other wrote.
  #
  # @private
  module Codec
    # Set to "1" to leave the extension out.
    SWITCH = "TIERCEL_PURE_RUBY"

    # @return [Module, nil] the extension
    def self.native = NATIVE

    NATIVE =
      begin
        unless ENV[SWITCH] == "1"
          require "tiercel/codec_ext"
          CodecExt
        end
      rescue LoadError
        nil
      end
    private_constant :NATIVE
  end
end
