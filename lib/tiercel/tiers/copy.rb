# frozen_string_literal: true

require_relative "../backend"
require_relative "../clock"
require_relative "../frame"

module Tiercel
  class Tiers < Backend
    # What a near tier keeps of the bytes that the tier behind it has: of the frame of a value that frame; of raw bytes,
    # counters and leases nothing, nor of values with tags, whose generations have to be asked for behind it anyhow.
    #
    # The frame of a plain String loses its checksum, once that has been found right: so the segment hands the String
    # out by itself.
    #
    # @private
    module Copy
      include Frame::Layout

      # type, compressor, flags and length of the parts of what needs no checksum in memory
      CHECKED_STRINGS = STRING_TYPES.values.map { |type| [type, COMPRESSOR_NONE, FLAG_CHECKSUM, 0] }.freeze
      private_constant :CHECKED_STRINGS

      class << self
        include Frame::Layout

        # @param bytes [String] what the tier behind has
        # @param longest [Float] seconds
        # @return [Float, nil] seconds that a copy may live: not beyond the value's own end; nil for no copy
        def ttl(bytes, longest)
          return unless value?(bytes)
          ends_at = Frame.ends_at(bytes) or return longest
          left = [longest, ends_at - Clock.now].min
          left if left.positive?
        end

        # @param bytes [String] of which {.ttl} has told how long
        # @return [String, nil] nil for what is damaged, or has tags
        def of(bytes)
          return (bytes unless tagged?(bytes)) unless CHECKED_STRINGS.include?(bytes.unpack("x2C3xS<"))
          frame = Frame.parse(bytes)
          Frame.build(frame.type, frame.payload, expires_at: frame.expires_at)
        rescue MalformedFrame
          nil
        end

        private

        def tagged?(bytes)
          length = bytes.unpack1("S<", offset: PARTS_BYTES_AT)
          !length.zero? && !Frame::Parts.decode(bytes.byteslice(HEADER_BYTES, length)).tags.nil?
        end

        def value?(bytes)
          bytes.bytesize >= HEADER_BYTES && bytes.getbyte(0) == MAGIC && bytes.getbyte(1) == FRAME_VERSION &&
            bytes.getbyte(TYPE_AT) != TYPE_PLACEHOLDER
        end
      end
    end
  end
end
