# frozen_string_literal: true

require_relative "../backend"
require_relative "../clock"
require_relative "../codec"
require_relative "../compressors"
require_relative "../frame"

module Tiercel
  class Tiers < Backend
    # Turns the last tier's bytes into the bytes of a near copy. Raw bytes, counters and leases get no copy.
    #
    # A value with tags and the generations of its tags have a copy each: a generation is a key like any other. A read
    # in the near tier compares both. Without the copy of a generation, the last tier decides.
    #
    # A copy is the frame that a store over `shared:` alone would write. It has no checksum, since that was verified,
    # and is compressed only if the value is long. So the segment returns plain Strings without a Ruby object for the
    # frame.
    #
    # @private
    module Copy
      # Of a tag's generation ({Store::Tags}): its size, and a part of its key.
      GENERATION_BYTES = 8
      GENERATION_KEY = "tiercel:tag:"

      class << self
        include Frame::Layout

        # @return [Boolean] whether it is the generation of a tag
        def generation?(key, bytes)
          bytes.bytesize == GENERATION_BYTES && key.b.include?(GENERATION_KEY)
        end

        # @return [Boolean] whether a frame has tags
        def tagged?(bytes) = !Frame.part(bytes, PART_TAGS).nil?

        # @param bytes [String] the last tier's bytes
        # @param longest [Integer] bytes of a value that is not compressed
        # @return [String, nil] nil for a damaged frame, and for an entry without a copy
        def of(bytes, longest)
          return unless Frame.frame?(bytes)
          CodecExt.unchecked_frame(bytes) || parsed(bytes, longest)
        end

        # @param bytes [String] the result of {.of}
        # @param longest [Float] seconds
        # @return [Float, nil] seconds that the copy lives: it expires with the value; nil if it has expired
        def ttl(bytes, longest)
          ends_at = Frame.ends_at(bytes) or return longest
          left = ends_at - Clock.now
          [longest, left].min if left.positive? # false for a NaN in a damaged frame
        end

        # @param bytes [String] the result of {.of}
        # @param began [Integer] nanoseconds of the monotonic clock: when the block began that computed the value
        # @return [String]
        def computed(bytes, began) = Frame.with_parts(bytes, computed_at: began)

        # @param bytes [String, nil] bytes of a copy
        # @return [Integer, nil] the time that {.computed} wrote into it
        def computed_at(bytes)
          Frame.parse(bytes).parts.computed_at
        rescue MalformedFrame
          nil
        end

        private

        # The extension leaves compressed frames to Ruby.
        def parsed(bytes, longest)
          frame = Frame.parse(bytes)
          return if frame.placeholder?
          return bytes if frame.encrypted? # its parts and expiry are authenticated
          parts_bytes = bytes.unpack1("S<", offset: PARTS_BYTES_AT)
          plain = frame.compressor == COMPRESSOR_NONE
          payload = plain ? frame.payload : inflated(frame, longest)
          return bytes unless payload
          parts = plain ? bytes.byteslice(HEADER_BYTES, parts_bytes) : parts_of_inflated(frame.parts)
          Frame.build(frame.type, payload, expires_at: frame.expires_at, parts:)
        rescue MalformedFrame
          nil
        end

        def parts_of_inflated(parts)
          names = %i[version encoding stale created_at exclusive tags]
          Frame::Parts.encode(**names.to_h { |name| [name, parts.public_send(name)] })
        end

        # @return [String, nil] nil for a long value, and for an unknown compressor
        def inflated(frame, longest)
          size = frame.parts.inflated_bytes
          name = Compressors::NAMES[frame.compressor]
          return unless size && name && size < longest
          Compressors::REGISTRY.fetch(name).inflate(frame.payload, inflated_bytes: size, limit: longest)
        rescue MissingDependency, ConfigurationError
          nil
        end
      end
    end
  end
end
