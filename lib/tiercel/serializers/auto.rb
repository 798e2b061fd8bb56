# frozen_string_literal: true

module Tiercel
  # The default: msgpack for plain data, Marshal for everything else. It preserves everything that Marshal
  # preserves.
  class Serializers::Auto
    # @param plain [#dump, #load] the msgpack implementation
    # @param marshal [Boolean] whether Marshal may be used
    def initialize(plain: CodecExt, marshal: true)
      @plain = plain
      @marshal = marshal ? Serializers::Marshal.new : nil
    end

    # @return [Integer] the frame type of values that are not plain
    def type = Frame::Layout::TYPE_MARSHAL

    # @param value [Object]
    # @return [String] a msgpack or a Marshal payload
    # @raise [SerializationError] if the value is not plain and Marshal is forbidden
    # @raise [TypeError] if Marshal cannot dump the value
    def dump(value) = dump_plain(value) || dump_other(value)

    # @param value [Object]
    # @return [String, nil] its msgpack payload, nil if it is not plain data
    def dump_plain(value)
      @plain.dump(value)
    rescue SystemStackError
      nil
    end

    # @param value [Object] a value that is not plain
    # @return [String] its Marshal payload
    # @raise [SerializationError] if Marshal is forbidden
    def dump_other(value)
      return @marshal.dump(value) if @marshal
      raise SerializationError, "#{value.class}: not plain data (nil, booleans, Integers of 64 bits, Floats, " \
                                "Strings in UTF-8 or binary, Symbols, Arrays and Hashes of these), and " \
                                "marshal: false forbids anything else. Cache plain data or choose a serializer."
    end

    # @param bytes [String] a result of {#dump}. Both formats are distinguishable: a msgpack payload that begins
    #   with 04 has only one byte.
    # @return [Object]
    # @raise [MalformedFrame] if the bytes are truncated or altered
    # @raise [SerializationError] if they need Marshal and it is forbidden
    def load(bytes)
      return @plain.load(bytes) unless bytes.start_with?(Serializers::Marshal::SIGNATURE)
      raise SerializationError, "a marshal payload, and marshal: false forbids loading it" unless @marshal
      @marshal.load(bytes)
    end
  end
end
