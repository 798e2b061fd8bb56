# frozen_string_literal: true

require_relative "../backend"
require_relative "../clock"
require_relative "../codec"
require_relative "../compressors"
require_relative "../frame"

module Tiercel
  class Tiers < Backend
    # The near tier's form of the last tier's bytes: of the frame of a value a frame; of raw bytes,
    # counters and leases nothing, nor of values with tags, whose generations have to be asked for behind it anyhow.
    #
    # The frame is what a store over that segment alone would write: without a checksum, once that has been found right,
    # and not compressed, unless the value is long. So the segment hands plain Strings out by itself.
    #
    # @private
    module Copy
      NATIVE = Codec.native
      private_constant :NATIVE

      class << self
        include Frame::Layout

        # @param bytes [String] what the tier behind has
        # @param longest [Float] seconds
        # @return [Float, nil] seconds that a copy may live: not beyond the value's own end; nil for no copy
        def ttl(bytes, longest)
          return unless value?(bytes)
          ends_at = Frame.ends_at(bytes) or return longest
          left = ends_at - Clock.now
          [longest, left].min if left.positive? # which a damaged NaN is not
        end

        # @param bytes [String] of which {.ttl} has told how long
        # @param longest [Integer] bytes of a value that is not compressed
        # @return [String, nil] nil for what is damaged, or has tags
        def of(bytes, longest)
          (NATIVE && NATIVE.unchecked_frame(bytes)) || parsed(bytes, longest)
        end

        # @param bytes [String] of {.of}
        # @param began [Integer] nanoseconds of the monotonic clock: when the block began that has made the value
        # @return [String]
        def computed(bytes, began) = Frame.with_parts(bytes, computed_at: began)

        # @param bytes [String, nil] of a copy
        # @return [Integer, nil] what {.computed} was told
        def computed_at(bytes)
          Frame.parse(bytes).parts.computed_at
        rescue MalformedFrame
          nil
        end

        private

        # For frames that the extension leaves to Ruby, and without the extension.
        def parsed(bytes, longest)
          compressor, flags, parts_bytes = bytes.unpack("x3CCxS<")
          return bytes if compressor == COMPRESSOR_NONE && flags.zero? && parts_bytes.zero?
          frame = Frame.parse(bytes)
          return if frame.parts.tags
          inflated = inflated(frame, longest) unless compressor == COMPRESSOR_NONE
          return bytes if inflated.nil? && (compressor != COMPRESSOR_NONE || flags.zero?)
          parts = bytes.byteslice(HEADER_BYTES, parts_bytes)
          Frame.build(frame.type, inflated || frame.payload, expires_at: frame.expires_at,
                                                             parts: inflated ? without_size(parts) : parts)
        rescue MalformedFrame
          nil
        end

        def value?(bytes)
          bytes.bytesize >= HEADER_BYTES && bytes.getbyte(0) == MAGIC && bytes.getbyte(1) == FRAME_VERSION &&
            bytes.getbyte(TYPE_AT) != TYPE_PLACEHOLDER
        end

        # @return [String, nil] nil for a long value, and for a compressor that is not known here
        def inflated(frame, longest)
          size = frame.parts.inflated_bytes
          name = Compressors::NAMES[frame.compressor]
          return unless size && name && size < longest
          Compressors::REGISTRY.fetch(name).inflate(frame.payload, inflated_bytes: size, limit: longest)
        rescue MissingDependency, ConfigurationError
          nil
        end

        # Sound parts, but for the one that belongs to what was compressed.
        def without_size(parts)
          kept = String.new
          at = 0
          while at < parts.bytesize
            id, length = parts.unpack("CS<", offset: at)
            kept << parts.byteslice(at, PART_HEADER_BYTES + length) unless id == PART_INFLATED_BYTES
            at += PART_HEADER_BYTES + length
          end
          kept
        end
      end
    end
  end
end
