# frozen_string_literal: true

require "msgpack"
require_relative "../errors"
require_relative "../sizes"
require_relative "plain/writer"

module Tiercel
  module Serializers
    # Plain data in msgpack: nil, booleans, Integers of 64 bits, Floats,
    # Strings in UTF-8, US-ASCII and binary, Symbols, and Arrays and Hashes of
    # these that have nothing else about them. docs/serializers.md says it in full.
    #
    # This is the pure-Ruby form of ext/tiercel/codec. Both write the same bytes.
    module Plain
      # Extension types.
      SYMBOL = 0
      US_ASCII = 1

      FACTORY = ::MessagePack::Factory.new.tap do |factory|
        factory.register_type(SYMBOL, Symbol, packer: :name,
                                              unpacker: ->(bytes) { bytes.force_encoding(Encoding::UTF_8).to_sym })
        # Written by Writer alone; the class only gives the unpacker its place.
        factory.register_type(US_ASCII, Class.new, packer: :to_s,
                                                   unpacker: ->(bytes) { bytes.force_encoding(Encoding::US_ASCII) })
      end
      POOL = FACTORY.freeze.pool(16)
      private_constant :FACTORY, :POOL

      class << self
        # @param value [Object]
        # @return [String, nil] msgpack, nil if the value is not plain
        # @raise [RuntimeError] if another thread changes the value meanwhile
        def dump(value)
          POOL.packer do |packer|
            packer.full_pack if Writer.new(packer).write(value, 0)
          ensure
            packer.reset
          end
        end

        # @param bytes [String]
        # @return [Object]
        # @raise [MalformedFrame] if they are not one msgpack object of those that {dump} writes
        def load(bytes)
          POOL.load(bytes)
        rescue ::MessagePack::UnpackError, EOFError, EncodingError, ArgumentError, TypeError, RangeError,
               NoMemoryError => error
          raise MalformedFrame, "a msgpack payload of #{Sizes.human(bytes.bytesize)} could not be loaded: " \
                                "#{error.class}"
        end
      end
    end
  end
end
