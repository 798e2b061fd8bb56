# frozen_string_literal: true

require "digest"
require "zlib"

# The bytes that a backend stores: a fixed header, optional parts, and the payload. lib/tiercel/frame.md has the byte
# table.
#
#   bytes = Frame.build(Frame::Layout::TYPE_STRING_UTF_8, "abc", expires_at: 1.8e9)
#   frame = Frame.parse(bytes)
#   frame.payload     # => "abc"
#   frame.expires_at  # => 1800000000.0
class Tiercel::Frame
  autoload :Layout, "tiercel/frame/layout"

  include Layout

  # The optional parts of a frame, decoded.
  #
  # A frame has each part at most once. A missing part is nil here.
  class Parts
    include Layout

    # Bytes of the length and the generation; the tag's key comes in addition.
    TAG_FIXED_BYTES = 10
    # Bytes of lineage, holder and ttl.
    LEASE_BYTES = 24
    private_constant :TAG_FIXED_BYTES, :LEASE_BYTES

    # @return [String, nil] the entry's version; the digest of a long one ({Version})
    attr_reader :version
    # @return [Hash{String => String}, nil] generations (8 bytes) by the keys of their tags
    attr_reader :tags
    # @return [Array(String, Float), nil] for a placeholder: lineage and holder (16 bytes), and the lease's ttl in
    #   seconds
    attr_reader :lease
    # @return [Encoding, nil] the encoding of a String payload, unless it is one of the three common ones
    attr_reader :encoding
    # @return [Integer, nil] the payload's size before compression
    attr_reader :inflated_bytes
    # @return [Array(Float, Float), nil] two epoch times: the end of stale reads during a refresh, and after an
    #   error
    attr_reader :stale
    # @return [Array(Float, Float), nil] epoch time when the value was computed, and the duration of that
    #   computation
    attr_reader :created_at
    # @return [Integer, nil] the time when the block began, in nanoseconds of the machine's monotonic clock; only in a
    #   near copy that was computed while the last tier was unreachable
    attr_reader :computed_at
    # @return [Boolean, nil] whether the entry was written with `unless_exist`
    attr_reader :exclusive

    class << self
      # @return [String] the encoded parts, in the order of their ids
      # @raise [SerializationError] if the tags need more than {Layout::MAX_TAGS_BYTES}
      def encode(version: nil, tags: nil, lease: nil, encoding: nil, inflated_bytes: nil, stale: nil, created_at: nil,
                 computed_at: nil, exclusive: nil)
        bytes = String.new
        append(bytes, PART_VERSION, encode_version(version)) if version
        append(bytes, PART_TAGS, encode_tags(tags)) if tags
        bytes << encode_lease(*lease) if lease
        append(bytes, PART_ENCODING, encoding.name.b) if encoding
        append(bytes, PART_INFLATED_BYTES, [inflated_bytes].pack("L<")) if inflated_bytes
        append(bytes, PART_STALE, stale.pack("EE")) if stale
        append(bytes, PART_CREATED_AT, created_at.pack("Ee")) if created_at
        append(bytes, PART_COMPUTED_AT, [computed_at].pack("Q<")) if computed_at
        append(bytes, PART_EXCLUSIVE, "") if exclusive
        bytes
      end

      # @param names [String] lineage and holder
      # @param seconds [Float] the lease's ttl
      # @return [String] the encoded part LEASE
      def encode_lease(names, seconds)
        return [PART_LEASE, LEASE_BYTES, names, seconds].pack("CS<a16E") if names.bytesize == 16
        raise ArgumentError, "lease: expected 16 bytes, got #{names.bytesize}"
      end

      # @param bytes [String] binary
      # @raise [MalformedFrame] if a part is truncated, repeated, has an invalid size, or is critical and unknown
      def decode(bytes)
        new(split(bytes))
      end

      # @param data [String] the part TAGS, in binary; a tag that is cut off is left out
      # @yieldparam generation [String] its bytes
      def each_tag(data)
        position = 0
        while (finish = position + TAG_FIXED_BYTES) <= data.bytesize
          length = data.getbyte(position) | (data.getbyte(position + 1) << 8)
          break if (finish += length) > data.bytesize
          key = data.byteslice(position + 2, length).force_encoding(Encoding::UTF_8).freeze
          yield key, data.byteslice(finish - 8, 8)
          position = finish
        end
      end

      private

      include Layout

      def append(bytes, id, data)
        bytes << [id, data.bytesize].pack("CS<") << data
      end

      # A String with its encoding: u8 String type as in the header; for type 0x04 a u8 length and the encoding's
      # name; then the bytes.
      def encode_version(version)
        version = Version.kept(version)
        type = STRING_TYPES.fetch(version.encoding, TYPE_STRING_ENCODED)
        prefix = [type].pack("C")
        prefix << [version.encoding.name.bytesize].pack("C") << version.encoding.name.b if type == TYPE_STRING_ENCODED
        prefix << version.b
      end

      # For each tag: u16 length, the key of its generation, 8 bytes of the generation.
      def encode_tags(tags)
        taken = tags.sum { |name, _| name.bytesize + TAG_FIXED_BYTES }
        if taken > MAX_TAGS_BYTES
          raise Tiercel::SerializationError,
            "tags: #{tags.size} tags of an entry take #{taken} bytes, expected at most " \
            "#{MAX_TAGS_BYTES}: use fewer or shorter ones"
        end
        tags.each_with_object(String.new) do |(name, generation), bytes|
          bytes << [name.bytesize].pack("S<") << name.b << generation
        end
      end

      def split(bytes)
        parts = {}
        position = 0
        while position < bytes.bytesize
          id, length = bytes.unpack("CS<", offset: position)
          data = bytes.byteslice(position + PART_HEADER_BYTES, length) if length
          raise Tiercel::MalformedFrame, "parts are truncated" unless data && data.bytesize == length
          raise Tiercel::MalformedFrame, format("part 0x%02X occurs twice", id) if parts.key?(id)
          parts[id] = data
          position += PART_HEADER_BYTES + length
        end
        parts
      end
    end

    # @private
    def initialize(parts)
      parts.each { |id, data| read(id, data) }
    end

    private

    def read(id, data)
      case id
      when PART_VERSION then @version = read_version(data)
      when PART_TAGS then @tags = read_tags(data)
      when PART_LEASE then @lease = sized(id, data, LEASE_BYTES).unpack("a16E")
      when PART_ENCODING then @encoding = find_encoding(data)
      when PART_INFLATED_BYTES then @inflated_bytes = sized(id, data, 4).unpack1("L<")
      when PART_STALE then @stale = sized(id, data, 16).unpack("EE")
      when PART_CREATED_AT then @created_at = sized(id, data, 12).unpack("Ee")
      when PART_COMPUTED_AT then @computed_at = data.unpack1("Q<")
      when PART_EXCLUSIVE then @exclusive = true
      else
        raise Tiercel::MalformedFrame,
          format("critical part 0x%02X is unknown to this version", id) if id >= CRITICAL_PARTS
      end
    end

    def read_version(data)
      type, name_bytes = data.unpack("CC")
      encoding = STRING_ENCODINGS[type]
      return data.byteslice(1..).force_encoding(encoding) if encoding
      unless type == TYPE_STRING_ENCODED && name_bytes && data.bytesize >= 2 + name_bytes
        raise Tiercel::MalformedFrame, "part VERSION is malformed"
      end
      data.byteslice((2 + name_bytes)..).force_encoding(find_encoding(data.byteslice(2, name_bytes)))
    end

    def read_tags(data)
      tags = {}
      bytes = 0
      Parts.each_tag(data) do |key, generation|
        tags[key] = generation
        bytes += key.bytesize + TAG_FIXED_BYTES
      end
      bytes == data.bytesize ? tags : raise(Tiercel::MalformedFrame, "part TAGS is truncated")
    end

    # Not `Encoding.find`, which also accepts names whose meaning depends on the process ("locale", "internal").
    def find_encoding(name)
      Encoding.list.find { |encoding| encoding.name == name } or
        raise Tiercel::MalformedFrame, "encoding #{name.byteslice(0, 40).inspect} is unknown to this Ruby"
    end

    def sized(id, data, bytes)
      return data if data.bytesize == bytes
      raise Tiercel::MalformedFrame, format("part 0x%02X: expected %d bytes, got %d", id, bytes, data.bytesize)
    end
  end

  # The version of an entry as a frame stores it. The version of an Array of records contains the versions of all of
  # them, so it has no maximum length. A frame stores the digest of a long version.
  #
  # @private
  module Version
    # A frame stores the digest of a longer version. The limit is half the maximum size of all parts.
    MAX_BYTES = 32 * 1024
    PREFIX = "sha256:"

    # @param version [#to_s] the version that the caller passed
    # @return [String] the form that a frame stores
    def self.kept(version)
      text = version.to_s
      text.bytesize > MAX_BYTES ? digest(text) : text
    end

    # @param kept [String] the version in a frame
    # @param wanted [String] the version that the caller passed
    # @return [Boolean] whether they are the same version
    def self.same?(kept, wanted)
      kept == wanted || (wanted.to_s.bytesize > MAX_BYTES && kept == kept(wanted))
    end

    # Ruby compares Strings of equal bytes as equal if both are ASCII or have the same encoding.
    def self.digest(text)
      encoding = text.encoding.name unless text.ascii_only?
      "#{PREFIX}#{encoding}:#{Digest::SHA256.hexdigest(text)}"
    end
    private_class_method :digest
  end

  # @return [Integer] the payload's type, one of {Layout::TYPES}
  attr_reader :type
  # @return [Integer] the payload's compressor, one of {Layout::COMPRESSORS}
  attr_reader :compressor
  # @return [Float, nil] epoch seconds, nil for never
  attr_reader :expires_at
  # @return [String] the payload as stored, binary
  attr_reader :payload
  # @return [Parts] the optional parts
  attr_reader :parts
  # @return [String, nil] of an encrypted frame: see {.authenticated}
  attr_reader :authenticated

  class << self
    include Layout

    # @param type [Integer] one of {Layout::TYPES}
    # @param payload [String] the payload to store, already compressed if needed; its encoding is ignored
    # @param compressor [Integer] one of {Layout::COMPRESSORS}
    # @param expires_at [Float, nil] epoch seconds, nil for never
    # @param parts [String] from {Parts.encode}
    # @param checksum [Boolean] whether to add the CRC-32 of parts and payload
    # @param encrypted [Boolean] whether the payload is encrypted
    # @return [String] the frame, binary
    # @raise [SerializationError] if the payload has 4 GiB or more
    def build(type, payload, compressor: COMPRESSOR_NONE, expires_at: nil, parts: "", checksum: false,
              encrypted: false)
      payload_bytes = payload.bytesize
      if payload_bytes > MAX_PAYLOAD_BYTES
        raise Tiercel::SerializationError, "a value of #{Tiercel::Sizes.human(payload_bytes)} does not fit a frame"
      end
      crc = checksum ? Zlib.crc32(payload, Zlib.crc32(parts)) : 0
      flags = (checksum ? FLAG_CHECKSUM : 0) | (encrypted ? FLAG_ENCRYPTED : 0)
      header = [MAGIC, FRAME_VERSION, type, compressor, flags, 0, parts.bytesize,
                expires_at || Float::INFINITY, payload_bytes, crc].pack(HEADER_TEMPLATE)
      header.setbyte(HEADER_CHECK_AT, fold(header) ^ HEADER_CHECK)
      return header << parts if payload_bytes.zero?
      "#{header}#{parts}#{payload.encoding == Encoding::BINARY ? payload : payload.b}"
    end

    # @param bytes [String] the bytes read from a backend
    # @return [Boolean] whether they begin like a frame of any version
    def frame?(bytes)
      bytes.getbyte(0) == MAGIC
    end

    # @param bytes [String] the bytes read from a backend
    # @return [Boolean] whether they are a frame written without `unless_exist`. A delayed delete may remove only
    #   such a frame: locks, counters and raw values may belong to another caller by now.
    def replaceable?(bytes)
      frame?(bytes) && bytes.bytesize >= HEADER_BYTES && part(bytes, PART_EXCLUSIVE).nil?
    end

    # Finds an optional part without decoding the others.
    #
    # @param bytes [String] the bytes read from a backend; may be damaged
    # @param id [Integer] the part's number
    # @return [String, nil] the part's data; nil if there is no such part, or if the bytes are not a frame
    def part(bytes, id)
      return unless frame?(bytes) && bytes.bytesize >= HEADER_BYTES
      position = HEADER_BYTES
      finish = [position + two_bytes(bytes, PARTS_BYTES_AT), bytes.bytesize].min
      while position + PART_HEADER_BYTES <= finish
        length = two_bytes(bytes, position + 1)
        return bytes.byteslice(position + PART_HEADER_BYTES, length) if bytes.getbyte(position) == id
        position += PART_HEADER_BYTES + length
      end
    end

    # @param bytes [String] the bytes read from a backend
    # @return [Frame] a frame with a valid header, valid sizes and a valid checksum
    # @raise [MalformedFrame] if one of these is invalid, or if this version cannot read the frame
    def parse(bytes)
      reject(bytes, "the header is cut off") if bytes.bytesize < HEADER_BYTES
      magic, version, type, compressor, flags, _, parts_bytes, expires_at, payload_bytes, crc =
        bytes.unpack(HEADER_TEMPLATE)
      reject(bytes, "not a frame") unless magic == MAGIC
      reject(bytes, "frame version #{version} is unknown") unless version == FRAME_VERSION
      reject(bytes, "the header was altered") unless fold(bytes) == HEADER_CHECK
      verify_numbers(bytes, type, compressor, flags, expires_at)
      unless bytes.bytesize == HEADER_BYTES + parts_bytes + payload_bytes
        reject(bytes, "expected #{HEADER_BYTES + parts_bytes + payload_bytes} bytes")
      end
      verify_checksum(bytes, flags, crc)
      new(type, compressor, expires_at, bytes, parts_bytes, flags.anybits?(FLAG_ENCRYPTED))
    end

    # @param bytes [String] a valid frame
    # @return [Float, nil] epoch seconds, nil for never
    def ends_at(bytes)
      ends_at = bytes.unpack1("E", offset: EXPIRES_AT_AT)
      ends_at unless ends_at == Float::INFINITY
    end

    # @param bytes [String] a valid frame that has none of these parts
    # @param parts [Hash, nil] see {Parts.encode}
    # @return [String] a copy of the frame with these parts, and perhaps with another payload
    def copy(bytes, parts, payload = nil, encrypted = false)
      type, compressor, flags, _, parts_bytes, expires_at = bytes.unpack("x2C4S<E")
      all = bytes.byteslice(HEADER_BYTES, parts_bytes)
      all << Parts.encode(**parts) if parts
      build(type, payload || payload(bytes), compressor:, expires_at:, parts: all,
                                             checksum: flags.anybits?(FLAG_CHECKSUM),
                                             encrypted: encrypted || flags.anybits?(FLAG_ENCRYPTED))
    end

    # Returns the data that encryption authenticates together with the payload: type, compressor, expiry and all
    # parts. The data excludes the time that a near copy appends to a finished frame as its last part.
    #
    # @param bytes [String] a valid frame
    # @return [String]
    def authenticated(bytes)
      parts = bytes.byteslice(HEADER_BYTES, bytes.unpack1("S<", offset: PARTS_BYTES_AT))
      # The bytes of another part may look like this one.
      parts = parts.byteslice(0, parts.bytesize - PART_HEADER_BYTES - 8) if part(bytes, PART_COMPUTED_AT)
      bytes.byteslice(TYPE_AT, 2) << bytes.byteslice(EXPIRES_AT_AT, 8) << [parts.bytesize].pack("S<") << parts
    end

    # @param bytes [String] a valid frame
    # @return [String] its payload as stored
    def payload(bytes) = bytes.byteslice((HEADER_BYTES + bytes.unpack1("S<", offset: PARTS_BYTES_AT))..)

    private

    def two_bytes(bytes, at) = bytes.getbyte(at) | (bytes.getbyte(at + 1) << 8)

    def verify_numbers(bytes, type, compressor, flags, expires_at)
      reject(bytes, format("type 0x%02X is unknown", type)) unless TYPES.include?(type)
      reject(bytes, format("compressor 0x%02X is unknown", compressor)) unless COMPRESSORS.include?(compressor)
      reject(bytes, format("flags 0x%02X are unknown", flags)) unless (flags & ~KNOWN_FLAGS).zero?
      reject(bytes, "expires_at is not a number") if expires_at.nan?
    end

    def verify_checksum(bytes, flags, crc)
      found = flags.anybits?(FLAG_CHECKSUM) ? Zlib.crc32(bytes.byteslice(HEADER_BYTES..)) : 0
      reject(bytes, "the checksum is wrong") unless found == crc
    end

    # XORs the 24 header bytes, four at a time.
    def fold(bytes)
      a, b, c, d, e, f = bytes.unpack("L6")
      word = a ^ b ^ c ^ d ^ e ^ f
      word ^= word >> 16
      (word ^ (word >> 8)) & 0xFF
    end

    def reject(bytes, reason)
      raise Tiercel::MalformedFrame, "#{reason}, in #{bytes.bytesize} bytes that begin with " \
                                     "#{bytes.byteslice(0, 8).unpack1("H*")}"
    end
  end

  # @private
  def initialize(type, compressor, expires_at, bytes, parts_bytes, encrypted)
    @authenticated = Tiercel::Frame.authenticated(bytes) if encrypted
    @type = type
    @compressor = compressor
    @expires_at = expires_at unless expires_at == Float::INFINITY
    @payload = bytes.byteslice((HEADER_BYTES + parts_bytes)..)
    @payload = @payload.b unless @payload.encoding == Encoding::BINARY
    @parts = parts_bytes.zero? ? NO_PARTS : Parts.decode(bytes.byteslice(HEADER_BYTES, parts_bytes))
  end

  # An expired frame. The frame replaces a frame that is to be removed, and every read treats it as a miss.
  EXPIRED = build(TYPE_STRING_BINARY, "", expires_at: 1.0).freeze

  # @return [Boolean] whether the payload is encrypted
  def encrypted? = !@authenticated.nil?

  # @return [Boolean] whether the frame marks a value that is being computed
  def placeholder? = type == TYPE_PLACEHOLDER

  NO_PARTS = Parts.new({}).freeze
  private_constant :NO_PARTS
end
