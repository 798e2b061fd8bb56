# frozen_string_literal: true

module Tiercel
  class Frame
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
      # @return [Hash{String => Integer}, nil] generations (unsigned 64-bit) by the keys of their tags
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
        # @param version [String, nil]
        # @param tags [Hash{String => Integer}, nil]
        # @param lease [Array(String, Float), nil]
        # @param encoding [Encoding, nil]
        # @param inflated_bytes [Integer, nil]
        # @param stale [Array(Float, Float), nil]
        # @param created_at [Array(Float, Float), nil]
        # @param computed_at [Integer, nil]
        # @param exclusive [Boolean, nil]
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
        # @return [Parts]
        # @raise [MalformedFrame] if a part is truncated, repeated, has an invalid size, or is critical and unknown
        def decode(bytes)
          new(split(bytes))
        end

        # @param data [String] the part TAGS, in binary; a tag that is cut off is left out
        # @yieldparam key [String]
        # @yieldparam generation [String] its bytes
        # @return [nil]
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

        # For each tag: u16 length, the key of its generation, u64 generation.
        def encode_tags(tags)
          taken = tags.sum { |name, _| name.bytesize + TAG_FIXED_BYTES }
          if taken > MAX_TAGS_BYTES
            raise SerializationError, "tags: #{tags.size} tags of an entry take #{taken} bytes, expected at most " \
                                      "#{MAX_TAGS_BYTES}: use fewer or shorter ones"
          end
          tags.each_with_object(String.new) do |(name, generation), bytes|
            bytes << [name.bytesize].pack("S<") << name.b << [generation].pack("Q<")
          end
        end

        def split(bytes)
          parts = {}
          position = 0
          while position < bytes.bytesize
            id, length = bytes.unpack("CS<", offset: position)
            data = bytes.byteslice(position + PART_HEADER_BYTES, length) if length
            raise MalformedFrame, "parts are truncated" unless data && data.bytesize == length
            raise MalformedFrame, format("part 0x%02X occurs twice", id) if parts.key?(id)
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
          raise MalformedFrame, format("critical part 0x%02X is unknown to this version", id) if id >= CRITICAL_PARTS
        end
      end

      def read_version(data)
        type, name_bytes = data.unpack("CC")
        encoding = STRING_ENCODINGS[type]
        return data.byteslice(1..).force_encoding(encoding) if encoding
        unless type == TYPE_STRING_ENCODED && name_bytes && data.bytesize >= 2 + name_bytes
          raise MalformedFrame, "part VERSION is malformed"
        end
        data.byteslice((2 + name_bytes)..).force_encoding(find_encoding(data.byteslice(2, name_bytes)))
      end

      def read_tags(data)
        tags = {}
        bytes = 0
        Parts.each_tag(data) do |key, generation|
          tags[key] = generation.unpack1("Q<")
          bytes += key.bytesize + TAG_FIXED_BYTES
        end
        bytes == data.bytesize ? tags : raise(MalformedFrame, "part TAGS is truncated")
      end

      # Encoding names that depend on process settings; "internal" may be nil.
      SETTINGS = %w[internal external locale filesystem].freeze
      private_constant :SETTINGS

      def find_encoding(name)
        name = name.dup.force_encoding(Encoding::US_ASCII)
        raise MalformedFrame, "encoding #{name} depends on the process" if SETTINGS.include?(name.downcase)
        Encoding.find(name)
      rescue ArgumentError
        raise MalformedFrame, "encoding #{name.byteslice(0, 40).inspect} is unknown to this Ruby"
      end

      def sized(id, data, bytes)
        return data if data.bytesize == bytes
        raise MalformedFrame, format("part 0x%02X: expected %d bytes, got %d", id, bytes, data.bytesize)
      end
    end
  end
end
