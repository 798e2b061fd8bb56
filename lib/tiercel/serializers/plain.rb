# frozen_string_literal: true

module Tiercel
  module Serializers
    # Plain data in msgpack: nil, booleans, 64-bit Integers, Floats, Strings in UTF-8, US-ASCII and binary, Symbols,
    # and plain Arrays and Hashes of these. docs/serializers.md has the exact rules.
    #
    # The pure-Ruby form of ext/tiercel/codec; both write the same bytes. It avoids the gem msgpack, because that gem
    # needs a compiler as well.
    module Plain
      # Extension types.
      SYMBOL = 0
      US_ASCII = 1

      class << self
        # @param value [Object]
        # @return [String, nil] msgpack, nil if the value is not plain
        # @raise [RuntimeError] if another thread changes the value during the dump
        def dump(value)
          packer = Packer.new
          packer.bytes if Writer.new(packer).write(value, 0)
        end

        # @param bytes [String]
        # @return [Object]
        # @raise [MalformedFrame] unless they are one msgpack object of the formats that {dump} writes
        def load(bytes)
          Reader.new(bytes.encoding == Encoding::BINARY ? bytes : bytes.b).read
        end
      end
    end
  end
end

require_relative "plain/packer"
require_relative "plain/reader"
require_relative "plain/writer"
