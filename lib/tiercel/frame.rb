# frozen_string_literal: true

module Tiercel
  # The bytes that a backend stores: a fixed header, optional parts, and the payload. lib/tiercel/frame.md has the byte
  # table.
  #
  #   bytes = Frame.build(Frame::Layout::TYPE_STRING_UTF_8, "abc", expires_at: 1.8e9)
  #   frame = Frame.parse(bytes)
  #   frame.payload     # => "abc"
  #   frame.expires_at  # => 1800000000.0
  class Frame
    autoload :Layout, "tiercel/frame/layout"
    autoload :Parts, "tiercel/frame/parts"
    autoload :Version, "tiercel/frame/version"

    include Layout

    CHECKSUMS = Codec::CHECKSUMS
    private_constant :CHECKSUMS

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
          raise SerializationError, "a value of #{Sizes.human(payload_bytes)} does not fit a frame"
        end
        crc = checksum ? CHECKSUMS.crc32(payload, CHECKSUMS.crc32(parts, 0)) : 0
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
      # @param parts [Hash] see {Parts.encode}
      # @return [String] a copy of the frame with these parts
      def with_parts(bytes, **parts)
        type, compressor, flags = bytes.unpack("x2C3")
        parts_bytes, expires_at = bytes.unpack("x6S<E")
        all = bytes.byteslice(HEADER_BYTES, parts_bytes) << Parts.encode(**parts)
        build(type, payload(bytes), compressor:, expires_at:, parts: all, checksum: flags.anybits?(FLAG_CHECKSUM),
                                   encrypted: flags.anybits?(FLAG_ENCRYPTED))
      end

      # Returns the data that encryption authenticates together with the payload: type, compressor, expiry and all
      # parts. It excludes the time that a near copy appends to a finished frame as its last part.
      #
      # @param bytes [String] a valid frame
      # @return [String]
      def authenticated(bytes)
        parts = bytes.byteslice(HEADER_BYTES, bytes.unpack1("S<", offset: PARTS_BYTES_AT))
        added = PART_HEADER_BYTES + 8
        parts = parts.byteslice(0, parts.bytesize - added) if parts.getbyte(-added) == PART_COMPUTED_AT
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
        found = flags.anybits?(FLAG_CHECKSUM) ? CHECKSUMS.crc32(bytes.byteslice(HEADER_BYTES..), 0) : 0
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
        raise MalformedFrame, "#{reason}, in #{bytes.bytesize} bytes that begin with " \
                              "#{bytes.byteslice(0, 8).unpack1("H*")}"
      end
    end

    # @private
    def initialize(type, compressor, expires_at, bytes, parts_bytes, encrypted)
      @authenticated = Frame.authenticated(bytes) if encrypted
      @type = type
      @compressor = compressor
      @expires_at = expires_at unless expires_at == Float::INFINITY
      @payload = bytes.byteslice((HEADER_BYTES + parts_bytes)..)
      @payload = @payload.b unless @payload.encoding == Encoding::BINARY
      @parts = parts_bytes.zero? ? NO_PARTS : Parts.decode(bytes.byteslice(HEADER_BYTES, parts_bytes))
    end

    # An expired frame. It replaces a frame that is to be removed, and every read treats it as a miss.
    EXPIRED = build(TYPE_STRING_BINARY, "", expires_at: 1.0).freeze

    # @return [Boolean] whether the payload is encrypted
    def encrypted? = !@authenticated.nil?

    # @return [Boolean] whether the frame marks a value that is being computed
    def placeholder? = type == TYPE_PLACEHOLDER

    NO_PARTS = Parts.new({}).freeze
    private_constant :NO_PARTS
  end
end
