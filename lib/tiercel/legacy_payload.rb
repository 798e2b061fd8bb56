# frozen_string_literal: true

require "active_support"
require "active_support/cache"

# Reads payloads that Rails' own stores wrote, so that an application can switch to Tiercel without a cold cache.
#
# Formats (ActiveSupport 6.1 to 8.1, cache/coder.rb and cache/serializer_with_fallback.rb):
#
#   00 11 ...       7.1: u8 type, f64 expires_at, i32 version bytes, version, payload
#   00 04 08 ...    7.0: Marshal of [value, expires_at, version]
#   01 78 ...       7.0: the same in a zlib stream
#   04 08 ...       6.1: Marshal of an Entry
#   04 08 22 ...    MemCacheStore: Dalli's Marshal of a String that holds one of the formats above
#
# ActiveSupport::MessagePack (CC 80 ...) occurs only inside the 7.1 format, because it cannot dump an Entry.
class Tiercel::LegacyPayload
  CODER_SIGNATURE = "\x00\x11".b.freeze
  MARSHAL_70_SIGNATURE = "\x00\x04\x08".b.freeze
  ZLIB_70_SIGNATURE = "\x01\x78".b.freeze
  MARSHAL_SIGNATURE = "\x04\x08".b.freeze
  MESSAGE_PACK_SIGNATURE = "\xCC\x80".b.freeze
  ZLIB_SIGNATURE = "\x78".b.freeze
  SIGNATURES = [CODER_SIGNATURE, MARSHAL_70_SIGNATURE, ZLIB_70_SIGNATURE, MARSHAL_SIGNATURE].freeze

  CODER_TEMPLATE = "@2CEl<"
  CODER_HEADER_BYTES = 15
  COMPRESSED_FLAG = 0x80
  OBJECT_TYPE = 0x01
  STRING_ENCODINGS = { 0x02 => Encoding::UTF_8, 0x03 => Encoding::BINARY, 0x04 => Encoding::US_ASCII }.freeze

  # @param bytes [String]
  # @return [Boolean] whether they begin like a payload of Rails
  def self.recognize?(bytes)
    first = bytes.getbyte(0)
    (first == 0x00 || first == 0x01 || first == 0x04) && bytes.b.start_with?(*SIGNATURES)
  end

  # @param serializer [Object] the store's serializer, for payloads of neither Marshal nor MessagePack
  # @param compressor [Object, nil] the store's compressor, for payloads not compressed with zlib
  # @param inflate_limit [Integer] bytes
  def initialize(serializer:, compressor:, inflate_limit:)
    @serializer = serializer
    @compressor = compressor
    @inflate_limit = inflate_limit
    @zlib = Tiercel::Compressors::Zlib.new
  end

  # @param bytes [String] bytes for which {recognize?} returned true
  # @return [ActiveSupport::Cache::Entry]
  # @raise [MalformedFrame] if the payload is damaged
  # @raise [ActiveSupport::Cache::DeserializationError] if a class no longer exists
  def load(bytes)
    bytes = bytes.b
    return load_coder(bytes) if bytes.start_with?(CODER_SIGNATURE)
    return unpack(load_object(bytes.byteslice(1..))) if bytes.start_with?(MARSHAL_70_SIGNATURE)
    return unpack(load_object(inflate(bytes.byteslice(1..)))) if bytes.start_with?(ZLIB_70_SIGNATURE)
    object = load_object(bytes)
    object.is_a?(String) && Tiercel::LegacyPayload.recognize?(object) ? load(object) : entry(object)
  end

  private

  def load_coder(bytes)
    raise Tiercel::MalformedFrame, "a Rails 7.1 payload is truncated" if bytes.bytesize < CODER_HEADER_BYTES
    type, expires_at, version_bytes = bytes.unpack(CODER_TEMPLATE)
    version_end = CODER_HEADER_BYTES + [version_bytes, 0].max
    raise Tiercel::MalformedFrame, "a Rails 7.1 payload is truncated" if bytes.bytesize < version_end
    version = load_version(bytes.byteslice(CODER_HEADER_BYTES, version_bytes)) if version_bytes >= 0
    payload = bytes.byteslice(version_end..)
    payload = inflate(payload) if type.anybits?(COMPRESSED_FLAG)
    ActiveSupport::Cache::Entry.new(load_payload(type & ~COMPRESSED_FLAG, payload), version:,
                                    expires_at: (expires_at unless expires_at.negative?))
  end

  def load_payload(type, payload)
    return payload.force_encoding(STRING_ENCODINGS[type]) if STRING_ENCODINGS.key?(type)
    raise Tiercel::MalformedFrame, format("a Rails 7.1 payload of unknown type 0x%02X", type) unless type == OBJECT_TYPE
    load_object(payload)
  end

  # Rails dumps a version with Marshal if its encoding is not UTF-8, or if it begins with Marshal's signature.
  def load_version(bytes)
    return bytes.force_encoding(Encoding::UTF_8) unless bytes.start_with?(MARSHAL_SIGNATURE)
    version = load_object(bytes)
    return version if version.is_a?(String)
    raise Tiercel::MalformedFrame, "a Rails 7.1 payload has a #{version.class} as its version"
  end

  def load_object(bytes)
    name = { MARSHAL_SIGNATURE => :marshal, MESSAGE_PACK_SIGNATURE => :message_pack }[bytes.byteslice(0, 2)]
    (name ? Tiercel::Serializers::REGISTRY.fetch(name) : @serializer).load(bytes)
  rescue Tiercel::Error, ActiveSupport::Cache::DeserializationError
    raise
  rescue StandardError, ScriptError, SystemStackError => error
    raise ActiveSupport::Cache::DeserializationError, "#{error.class}: #{error.message}"
  end

  def inflate(bytes)
    compressor = bytes.start_with?(ZLIB_SIGNATURE) || @compressor.nil? ? @zlib : @compressor
    compressor.inflate(bytes, limit: @inflate_limit)
  end

  def unpack(members)
    raise Tiercel::MalformedFrame, "a Rails 7.0 payload has no members" unless members.is_a?(Array) && members.size <= 3
    value, expires_at, version = members
    unless (expires_at.nil? || expires_at.is_a?(Numeric)) && (version.nil? || version.is_a?(String))
      raise Tiercel::MalformedFrame, "a Rails 7.0 payload has unexpected members"
    end
    ActiveSupport::Cache::Entry.new(value, expires_at:, version:)
  end

  # An Entry of Rails 6.1 may keep its value as zlib-compressed Marshal.
  def entry(object)
    unless object.is_a?(ActiveSupport::Cache::Entry)
      raise Tiercel::MalformedFrame, "a Rails payload contains a #{object.class}, not an entry"
    end
    return object unless object.compressed?
    value = load_object(inflate(object.instance_variable_get(:@value)))
    ActiveSupport::Cache::Entry.new(value, expires_at: object.expires_at, version: object.version)
  end
end
