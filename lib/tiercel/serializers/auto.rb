# frozen_string_literal: true

require_relative "../codec"
require_relative "../errors"
require_relative "../frame/layout"
require_relative "marshal"

module Tiercel
  module Serializers
    # The default: plain data through msgpack, everything else through
    # Marshal. Loses nothing that Marshal keeps.
    class Auto
      # @param plain [#dump, #load] the msgpack half: {Plain}, or the C extension
      # @param marshal [Boolean] whether Marshal may be used
      def initialize(plain: Codec.native || Plain, marshal: true)
        @plain = plain
        @marshal = marshal ? Marshal.new : nil
      end

      # @return [Integer] in the frame's header, of what is not plain
      def type = Frame::Layout::TYPE_MARSHAL

      # @param value [Object]
      # @return [String] a msgpack or a Marshal payload
      # @raise [SerializationError] if the value is not plain and Marshal is forbidden
      # @raise [TypeError] if Marshal cannot dump it
      def dump(value) = dump_plain(value) || dump_other(value)

      # @param value [Object]
      # @return [String, nil] its msgpack payload, nil if it is not plain data
      # @raise [RuntimeError] if another thread changes it meanwhile and that is seen, as with Marshal
      def dump_plain(value)
        @plain.dump(value)
      rescue SystemStackError
        nil
      end

      # @param value [Object] one that is not plain
      # @return [String] its Marshal payload
      # @raise [SerializationError] if Marshal is forbidden
      def dump_other(value)
        return @marshal.dump(value) if @marshal
        raise SerializationError, "#{value.class}: not plain data (nil, booleans, Integers of 64 bits, Floats, " \
                                  "Strings in UTF-8 or binary, Symbols, Arrays and Hashes of these), and " \
                                  "marshal: false forbids anything else. Cache plain data or choose a serializer."
      end

      # @param bytes [String] from {#dump}; the two kinds cannot be mixed up: a
      #   msgpack payload that begins with 04 is one byte long
      # @return [Object]
      # @raise [MalformedFrame] if they are cut off or altered
      # @raise [SerializationError] if they are Marshal's and it is forbidden
      def load(bytes)
        return @plain.load(bytes) unless bytes.start_with?(Marshal::SIGNATURE)
        raise SerializationError, "a marshal payload, and marshal: false forbids loading it" unless @marshal
        @marshal.load(bytes)
      end
    end
  end
end
