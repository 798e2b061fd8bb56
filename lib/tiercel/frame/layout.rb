# frozen_string_literal: true

# The numbers of frame version 1. lib/tiercel/frame.md has the byte table.
#
# A number that a release has used never changes its meaning; the golden frames in test/golden enforce this.
module Tiercel::Frame::Layout
  # The first byte. The byte differs from the first bytes of payloads of Rails' stores (00 01 04 78 CC), and
  # from digits and the minus sign, with which counters begin.
  MAGIC = 0xF5
  FRAME_VERSION = 1
  HEADER_BYTES = 24

  # u8 magic, u8 version, u8 type, u8 compressor, u8 flags, u8 header check, u16 parts_bytes, f64 expires_at, u32
  # payload_bytes, u32 CRC-32; little endian.
  HEADER_TEMPLATE = "C6S<EL<L<"
  TYPE_AT = 2
  HEADER_CHECK_AT = 5
  PARTS_BYTES_AT = 6
  EXPIRES_AT_AT = 8
  # The XOR of all 24 header bytes has this value.
  HEADER_CHECK = 0xA5

  FLAG_CHECKSUM = 0x01
  # The payload is encrypted (lib/tiercel/cipher.rb).
  FLAG_ENCRYPTED = 0x02
  KNOWN_FLAGS = FLAG_CHECKSUM | FLAG_ENCRYPTED

  # Maximum size of the part TAGS. Together with the longest version (see Version::MAX_BYTES) all parts fit into
  # 65,535 bytes, the most that the header can record.
  MAX_TAGS_BYTES = 32_000
  MAX_PAYLOAD_BYTES = 0xFFFF_FFFF

  # The generation of a tag has this size and no frame. The text is in its key.
  GENERATION_BYTES = 8
  GENERATION_KEY = "tiercel:tag:"

  # Types of payloads.
  TYPE_STRING_UTF_8 = 0x01
  TYPE_STRING_BINARY = 0x02
  TYPE_STRING_US_ASCII = 0x03
  TYPE_STRING_ENCODED = 0x04
  TYPE_MARSHAL = 0x10
  TYPE_PLAIN = 0x11
  TYPE_MESSAGE_PACK = 0x12
  TYPE_JSON = 0x13
  TYPE_AS_JSON = 0x14
  TYPE_CUSTOM = 0x1F
  TYPE_PLACEHOLDER = 0x20

  TYPES = [
    TYPE_STRING_UTF_8, TYPE_STRING_BINARY, TYPE_STRING_US_ASCII, TYPE_STRING_ENCODED,
    TYPE_MARSHAL, TYPE_PLAIN, TYPE_MESSAGE_PACK, TYPE_JSON, TYPE_AS_JSON, TYPE_CUSTOM, TYPE_PLACEHOLDER,
  ].freeze

  # Compressors of payloads.
  COMPRESSOR_NONE = 0x00
  COMPRESSOR_ZLIB = 0x01
  COMPRESSOR_LZ4 = 0x02
  COMPRESSOR_ZSTD = 0x03
  COMPRESSOR_SNAPPY = 0x04
  COMPRESSOR_BROTLI = 0x05
  COMPRESSOR_CUSTOM = 0x1F

  COMPRESSORS = [
    COMPRESSOR_NONE, COMPRESSOR_ZLIB, COMPRESSOR_LZ4, COMPRESSOR_ZSTD, COMPRESSOR_SNAPPY, COMPRESSOR_BROTLI,
    COMPRESSOR_CUSTOM,
  ].freeze

  # Optional parts: u8 id, u16 length, data. A reader rejects a frame with an unknown id from CRITICAL_PARTS up,
  # and skips other unknown parts.
  PART_VERSION = 0x01
  PART_TAGS = 0x02
  PART_LEASE = 0x03
  PART_ENCODING = 0x04
  PART_INFLATED_BYTES = 0x05
  PART_STALE = 0x06
  PART_CREATED_AT = 0x07
  PART_COMPUTED_AT = 0x08
  PART_EXCLUSIVE = 0x09
  CRITICAL_PARTS = 0x80
  PART_HEADER_BYTES = 3

  STRING_ENCODINGS = {
    TYPE_STRING_UTF_8 => Encoding::UTF_8,
    TYPE_STRING_BINARY => Encoding::BINARY,
    TYPE_STRING_US_ASCII => Encoding::US_ASCII,
  }.freeze

  STRING_TYPES = STRING_ENCODINGS.invert.freeze
end
