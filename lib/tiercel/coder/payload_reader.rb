# frozen_string_literal: true

# Decodes a frame's payload, whatever serializer and compressor wrote it. A store can therefore change its options
# and still read its old entries.
#
# @private
class Tiercel::Coder::PayloadReader
  include Tiercel::Frame::Layout

  # @param serializer [Object] the store's serializer
  # @param compressor [Object, nil] the store's compressor
  # @param marshal [Boolean] whether Marshal may load
  # @param cipher [Cipher, nil]
  def initialize(serializer:, compressor:, marshal:, cipher:)
    @marshal = marshal
    @cipher = cipher
    @serializers = { serializer.type => serializer }
    @serializers.delete(TYPE_MARSHAL)
    @compressors = compressor ? { compressor.id => compressor } : {}
  end

  # @param frame [Frame]
  # @param key [String, nil] the entry's key; nil for a copy that never left this process
  # @return [Object]
  # @raise [MalformedFrame] if the payload is damaged or too large, or needs a serializer or compressor that this
  #   store does not have
  # @raise [SerializationError] if Marshal would have to load the payload and that is forbidden
  # @raise [ActiveSupport::Cache::DeserializationError] if a class no longer exists
  def read(frame, key)
    if frame.encrypted? && (@cipher.nil? || key.nil?)
      raise Tiercel::Undecryptable, "the entry is encrypted, and this store has no encrypt:"
    end
    payload = inflate(frame, @cipher && key ? @cipher.open(key, frame) : frame.payload)
    case frame.type
    when TYPE_PLAIN then Tiercel::CodecExt.load(payload)
    when TYPE_STRING_UTF_8, TYPE_STRING_BINARY, TYPE_STRING_US_ASCII
      payload.force_encoding(STRING_ENCODINGS[frame.type])
    when TYPE_STRING_ENCODED
      encoding = frame.parts.encoding or raise Tiercel::MalformedFrame, "a String's encoding is missing"
      payload.force_encoding(encoding)
    else load(frame.type, payload)
    end
  end

  private

  def inflate(frame, payload)
    return payload.frozen? ? payload.dup : payload if frame.compressor == COMPRESSOR_NONE
    claimed = frame.parts.inflated_bytes or raise Tiercel::MalformedFrame, "a compressed payload has no size"
    compressor = @compressors[frame.compressor] ||= built_in(Tiercel::Compressors, frame.compressor)
    inflated = compressor.inflate(payload, inflated_bytes: claimed)
    inflated.frozen? ? inflated.dup : inflated
  end

  def load(type, payload)
    serializer(type).load(payload)
  rescue Tiercel::Error, ActiveSupport::Cache::DeserializationError
    raise
  rescue StandardError, ScriptError, SystemStackError => error # a class may load a missing file
    raise ActiveSupport::Cache::DeserializationError, "#{error.class}: #{error.message}"
  end

  # With `marshal: false`, only the store's own serializer may load a payload.
  def serializer(type)
    @serializers[type] ||= begin
      unless @marshal
        raise Tiercel::SerializationError,
          format("a payload of type 0x%02X, and marshal: false forbids loading it", type)
      end
      built_in(Tiercel::Serializers, type)
    end
  end

  # @param kind [Module] {Compressors} or {Serializers}
  def built_in(kind, number)
    name = kind::NAMES[number] or
      raise Tiercel::MalformedFrame, "a payload needs a #{kind::REGISTRY.kind} of the application's own, and this " \
                                     "store has none"
    kind::REGISTRY.fetch(name)
  rescue Tiercel::MissingDependency => error
    raise Tiercel::MalformedFrame, "a payload cannot be decoded: #{error.message}"
  end
end
