# frozen_string_literal: true

module Tiercel
  # Encodes values as frames and decodes them: serializer, compressor, header.
  #
  #   coder = Tiercel::Coder.new
  #   frame = coder.dump_value({ id: 1 }, 1.8e9, nil, true, 1024)
  #   coder.load_value(frame, Time.now.to_f)  # => { id: 1 }
  #   coder.load(frame).value                 # => { id: 1 }
  class Coder
    autoload :LazyEntry, "tiercel/coder/lazy_entry"
    autoload :PayloadReader, "tiercel/coder/payload_reader"

    include Frame::Layout

    Signal = Codec::Signal
    MISS, EXPIRED, SLOW, FALLBACK = Codec::MISS, Codec::EXPIRED, Codec::SLOW, Codec::FALLBACK

    DEFAULT_COMPRESS_THRESHOLD = 1024
    # Control characters, which text does not contain. Text without a frame was written with `raw: true`. Other bytes
    # without a frame are damaged, or another program wrote them.
    CONTROL = /[\x00-\x08\x0B\x0C\x0E-\x1F\x7F]/
    # Payloads of Rails' stores begin with these bytes: formats 7.1, 7.0, 7.0 compressed, and 6.1 or Dalli's Marshal of
    # one of these.
    OF_RAILS = /\A(?:\0\x11|\0\x04\x08|\x01\x78|\x04\x08)/n
    # Dalli's Marshal of a String.
    OF_DALLI = "\x04\x08\"".b.freeze
    private_constant :CONTROL, :OF_RAILS, :OF_DALLI
    # A compressed payload is kept only if its size is at most this fraction of the original size.
    WORTHWHILE = 0.9

    # @param serializer [Symbol, #dump] see {Serializers.build}
    # @param compressor [Symbol, nil, #deflate] see {Compressors.build}
    # @param checksum [Boolean] whether new frames carry a CRC-32 of their payload; an existing checksum is always
    #   verified
    # @param marshal [Boolean] whether Marshal may dump and load; if false, only the serializer itself loads objects,
    #   and payloads of Rails 6.1 to 8.1 are not read
    # @param rails_coder [#load, nil] reads payloads of Rails' stores, so that an application can switch to Tiercel
    #   without a cold cache
    # @param cipher [Cipher, nil] encrypts the payloads; every dump and load then needs the entry's key
    # @raise [ConfigurationError] if the serializer or the compressor is invalid, or contradicts `marshal: false`
    # @raise [MissingDependency] if its library is not installed
    def initialize(serializer: :auto, compressor: Compressors.default, checksum: true, marshal: true, cipher: nil,
                   rails_coder: nil)
      @cipher = cipher
      @serializer = Serializers.build(serializer, marshal:)
      @plain = @serializer.is_a?(Serializers::Auto)
      @compressor = Compressors.build(compressor)
      @checksum = checksum && cipher.nil? # encryption authenticates the payload
      @reader = PayloadReader.new(serializer: @serializer, compressor: @compressor, marshal:, cipher:)
      @rails_coder = rails_coder if marshal
    end

    # @return [Boolean] whether the frame of a String is only a header and its bytes, as a segment writes it by itself
    def plain_frames? = !@checksum && @cipher.nil?

    # @return [Boolean] whether payloads are encrypted
    def encrypts? = !@cipher.nil?

    # @return [Boolean] whether entries that are not encrypted are read although payloads are encrypted
    def accepts_plain? = @cipher ? @cipher.accept_plain? : false

    # @param entry [ActiveSupport::Cache::Entry]
    # @param key [String, nil] as for {#dump_value}
    # @param threshold [Integer, nil] minimum payload size in bytes for compression; nil for none
    # @return [String] its frame
    # @raise [SerializationError] if the value cannot be dumped (or any error that the serializer raises)
    def dump(entry, key = nil, threshold: nil)
      dump_value(entry.value, end_of(entry), entry.version, !threshold.nil?, threshold || 0, key)
    end

    # @param value [Object]
    # @param expires_at [Float, nil] epoch seconds, nil for never
    # @param version [String, nil]
    # @param compress [Boolean] whether to compress if that saves enough bytes
    # @param threshold [Integer] minimum payload size in bytes for compression
    # @param key [String, nil] the key under which the frame is stored, needed for encryption
    # @return [String] the frame
    # @raise [SerializationError] see {#dump}
    def dump_value(value, expires_at, version, compress = true, threshold = DEFAULT_COMPRESS_THRESHOLD,
                   key = nil)
      frame = dump_plainly(value, expires_at, version, compress, threshold)
      @cipher ? sealed(frame, key) : frame
    end

    # @param bytes [String] a valid frame that has none of these parts
    # @param key [String] the key under which the frame is stored
    # @param parts [Hash] see {Frame::Parts.encode}
    # @return [String] a copy of the frame with these parts. An encrypted payload is encrypted anew
    def with_parts(bytes, key, **parts)
      return Frame.copy(bytes, parts) unless @cipher
      sealed(Frame.copy(bytes, parts, @cipher.open(key, Frame.parse(bytes))), key)
    end

    # Copies a value through a frame that stays in this process, so it is never encrypted.
    #
    # @return [String] a frame for {#load_copy}
    def dump_copy(value) = dump_plainly(value, nil, nil, false, 0)

    # @param frame [String] from {#dump_copy}
    # @return [Object]
    def load_copy(frame) = @reader.read(Frame.parse(frame), nil)

    # @param bytes [String] the bytes read from a backend
    # @return [ActiveSupport::Cache::Entry, nil] nil for a placeholder. The first access to the value decodes it and
    #   may raise ActiveSupport::Cache::DeserializationError.
    # @raise [MalformedFrame] if the bytes are neither a frame nor a payload of Rails nor a counter nor text
    def load(bytes, key = nil)
      return load_foreign(bytes) unless Frame.frame?(bytes)
      frame = Frame.parse(bytes)
      return if frame.placeholder?
      LazyEntry.new(@reader, frame, key)
    end

    # The fast form of {#load}: it returns the value and creates no entry.
    #
    # @param bytes [String] the bytes read from a backend
    # @param now [Float, nil] epoch seconds; nil to read the clock only if needed
    # @param version [String, nil] the version that the caller wants; an entry without a version matches every caller
    # @param tags_compared [Boolean] whether the caller has found the frame's tags to be current
    # @return [Object] the value; {MISS} for a placeholder; {EXPIRED}; {SLOW} if only {#load} can decide. That holds for
    #   a frame with another version or with tags, and for bytes without a frame
    # @raise [MalformedFrame] if the bytes are damaged
    # @raise [SerializationError] if the payload's type must not be loaded
    # @raise [ActiveSupport::Cache::DeserializationError] if a class no longer exists
    def load_value(bytes, now = nil, version = nil, key = nil, tags_compared = false)
      unless @cipher
        value = CodecExt.load_frame(bytes, now, version, tags_compared)
        return value unless FALLBACK.equal?(value)
      end
      load_in_ruby(bytes, now, version, key, tags_compared)
    end

    private

    # @return [String] the frame, not encrypted
    def dump_plainly(value, expires_at, version, compress, threshold)
      threshold = nil unless compress && @compressor
      frame = CodecExt.dump_frame(value, expires_at, version, @plain, @checksum, threshold)
      return frame if frame && (threshold.nil? || frame.bytesize - HEADER_BYTES < threshold)
      return dump_in_ruby(value, expires_at, version, threshold) unless frame
      assemble(frame.getbyte(TYPE_AT), Frame.payload(frame), expires_at, version, nil, threshold)
    end

    # The store passes the key with every call, so a missing one is a defect of ours.
    def sealed(frame, key)
      raise ArgumentError, "an encrypted entry needs its key" unless key
      Frame.copy(frame, nil, @cipher.seal(key, frame), true)
    end

    def load_in_ruby(bytes, now, version, key, tags_compared)
      return SLOW unless Frame.frame?(bytes)
      frame = Frame.parse(bytes)
      return MISS if frame.placeholder?
      return EXPIRED if frame.expires_at && frame.expires_at <= (now || Clock.now)
      parts = frame.parts
      return SLOW if parts.tags && !tags_compared
      return SLOW if version && parts.version && !Frame::Version.same?(parts.version, version)
      @reader.read(frame, key)
    end

    # Rails treats an `expires_at` that is not a number as no expiry.
    def end_of(entry)
      ends_at = entry.expires_at
      ends_at unless ends_at&.nan?
    end

    def dump_in_ruby(value, expires_at, version, threshold)
      # Strings are stored without serialization, except those with instance variables.
      if value.instance_of?(String) && value.instance_variables.empty?
        payload = value
        type = STRING_TYPES.fetch(value.encoding, TYPE_STRING_ENCODED)
        encoding = value.encoding if type == TYPE_STRING_ENCODED
      elsif @plain && version && (payload = CodecExt.dump(value)) # C leaves some versions to Ruby
        type = TYPE_PLAIN
      else
        payload = @serializer.dump(value)
        type = @serializer.type
      end
      assemble(type, payload, expires_at, version, encoding, threshold)
    end

    def assemble(type, payload, expires_at, version, encoding, threshold)
      if threshold && payload.bytesize >= threshold && (deflated = deflate(payload))
        inflated_bytes = payload.bytesize
        payload = deflated
      end
      parts = Frame::Parts.encode(version:, encoding:, inflated_bytes:) if version || encoding || inflated_bytes
      compressor = inflated_bytes ? @compressor.id : COMPRESSOR_NONE
      Frame.build(type, payload, compressor:, expires_at:, parts: parts || "", checksum: @checksum)
    end

    def deflate(payload)
      return if payload.bytesize > Compressors::INFLATE_LIMIT
      deflated = @compressor.deflate(payload)
      deflated if deflated.bytesize + PART_HEADER_BYTES + 4 <= payload.bytesize * WORTHWHILE
    end

    def load_foreign(bytes)
      counter = Counter.parse(bytes)
      return ActiveSupport::Cache::Entry.new(counter) if counter
      raise Undecryptable, "the entry is not encrypted" if @cipher && !@cipher.accept_plain?
      binary = bytes.b
      return load_of_rails(binary) if @rails_coder && OF_RAILS.match?(binary)
      text = bytes.dup.force_encoding(Encoding::UTF_8)
      return ActiveSupport::Cache::Entry.new(text) if text.valid_encoding? && !text.match?(CONTROL)
      raise MalformedFrame, "neither a frame nor a Rails payload nor text: #{bytes.bytesize} bytes that begin with " \
                            "#{bytes.byteslice(0, 8).unpack1("H*")}"
    end

    # Decodes the value at once, because Rails' entry would raise other errors later.
    def load_of_rails(bytes)
      bytes = ::Marshal.load(bytes) if bytes.start_with?(OF_DALLI)
      entry = @rails_coder.load(bytes) or return # Rails 8.2 reports what it cannot load, and returns nil
      ActiveSupport::Cache::Entry.new(entry.value, expires_at: entry.expires_at, version: entry.version)
    rescue ActiveSupport::Cache::DeserializationError
      raise
    rescue StandardError, ScriptError, SystemStackError => error
      raise MalformedFrame, "a payload of one of Rails' stores cannot be loaded: #{error.class}"
    end
  end
end
