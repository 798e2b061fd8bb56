# frozen_string_literal: true

module Tiercel
  module Serializers
    # Plain data in msgpack: nil, booleans, Integers of 64 bits, Floats,
    # Strings in UTF-8, US-ASCII and binary, Symbols, and Arrays and Hashes of
    # these that have nothing else about them. docs/serializers.md says it in full.
    #
    # This is the pure-Ruby form of ext/tiercel/codec. Both write the same bytes. It needs no gem, because the gem
    # msgpack needs a compiler, as the extension does.
    module Plain
      # Extension types.
      SYMBOL = 0
      US_ASCII = 1

      class << self
        # @param value [Object]
        # @return [String, nil] msgpack, nil if the value is not plain
        # @raise [RuntimeError] if another thread changes the value meanwhile
        def dump(value)
          packer = Packer.new
          packer.bytes if Writer.new(packer).write(value, 0)
        end

        # @param bytes [String]
        # @return [Object]
        # @raise [MalformedFrame] if they are not one msgpack object of those that {dump} writes
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
