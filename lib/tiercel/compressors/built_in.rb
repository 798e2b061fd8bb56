# frozen_string_literal: true

require "zlib"

module Tiercel
  # A built-in compressor: a class with its ID in frames, its {#deflate}, and {#expand}, whose result never takes much
  # more than the limit. The other methods are common to all of them.
  class Compressors::BuiltIn
    # Maximum number of base-128 digits in a 32-bit size.
    MAX_SIZE_DIGITS = 5

    # @return [Integer] in the frame's header
    def id = self.class::ID

    # @param bytes [String]
    # @param inflated_bytes [Integer] the size claimed by the frame
    # @param limit [Integer] bytes
    # @return [String] binary
    # @raise [MalformedFrame] if the bytes are damaged, or inflate to more than `limit` or not to `inflated_bytes`
    def inflate(bytes, inflated_bytes:, limit: Compressors::INFLATE_LIMIT)
      check_claim(inflated_bytes, limit)
      inflated = expand(bytes, inflated_bytes)
      return inflated if inflated.bytesize == inflated_bytes
      raise MalformedFrame, "a payload inflates to #{inflated.bytesize} bytes, not the #{inflated_bytes} it claims"
    rescue MalformedFrame
      raise
    rescue StandardError, NoMemoryError => error
      raise MalformedFrame, "a #{self.class.name[/\w+\z/].downcase} payload could not be inflated: #{error.message}"
    end

    private

    def check_claim(claimed, limit)
      return if claimed <= limit
      raise MalformedFrame, "a payload claims to inflate to #{Sizes.human(claimed)}, more than #{Sizes.human(limit)}"
    end

    # @return [Array(Integer, Integer)] the size at the beginning of a block (base-128, low digits first), and the
    #   position after it
    # @raise [MalformedFrame] if there is no size, or it is more than the limit
    def leading_size(bytes, limit)
      size = 0
      MAX_SIZE_DIGITS.times do |index|
        byte = bytes.getbyte(index) or break
        size |= (byte & 0x7F) << (7 * index)
        next if byte >= 0x80
        check_claim(size, limit)
        return size, index + 1
      end
      raise MalformedFrame, "a payload has no size"
    end

    # Collects the output of a stream piece by piece, so that the limit is checked before the next piece is inflated.
    def collect(limit)
      inflated = String.new
      yield lambda { |piece|
        inflated << piece
        raise MalformedFrame, "a payload inflates to more than #{Sizes.human(limit)}" if inflated.bytesize > limit
      }
      inflated
    end

    def refuse_rest(complete)
      raise MalformedFrame, "a payload is truncated, or followed by foreign bytes" unless complete
    end
  end

  # LZ4 blocks after their size as a base-128 number, low digits first. This is the format of the gems lz4-ruby and
  # lz4_flex. The C extension calls the system's liblz4.
  class Compressors::LZ4 < Compressors::BuiltIn
    ID = Frame::Layout::COMPRESSOR_LZ4

    # @return [Boolean] whether the system has the library
    def self.available? = CodecExt.respond_to?(:lz4_deflate)

    def initialize
      return if self.class.available?
      raise MissingDependency, "compressor :lz4 needs the library liblz4.so.1, which this system does not have. " \
                               "Install it (Debian: liblz4-1, Alpine: lz4-libs), or use compressor: :zlib"
    end

    def deflate(bytes) = CodecExt.lz4_deflate(bytes)

    private

    def expand(bytes, limit)
      claimed, position = leading_size(bytes, limit)
      CodecExt.lz4_inflate(bytes, position, claimed) or
        raise MalformedFrame, "an lz4 payload is not the #{claimed} bytes it claims to be"
    end
  end

  # Deflate as a zlib stream (RFC 1950), from Ruby's standard library.
  class Compressors::Zlib < Compressors::BuiltIn
    ID = Frame::Layout::COMPRESSOR_ZLIB

    def deflate(bytes) = ::Zlib::Deflate.deflate(bytes)

    private

    def expand(bytes, limit)
      stream = ::Zlib::Inflate.new
      inflated = collect(limit) { |add| stream.inflate(bytes, &add) }
      refuse_rest(stream.finished? && stream.total_in == bytes.bytesize)
      inflated
    ensure
      stream&.reset # closing an unfinished stream would warn
      stream&.close
    end
  end

  # Zstandard frames (RFC 8878), by the gem zstd-ruby.
  class Compressors::Zstd < Compressors::BuiltIn
    ID = Frame::Layout::COMPRESSOR_ZSTD
    # The library's default is 3. Level 1 takes half the time and saves about a tenth less.
    LEVEL = 1
    # The maximum ratio of inflated to compressed size: a block of 4 bytes can represent 128 KiB.
    MAX_EXPANSION = 128 * 1024 / 4

    def deflate(bytes) = ::Zstd.compress(bytes, level: LEVEL)

    private

    # The library returns one buffer (128 KiB) of a stream at a time.
    def expand(bytes, limit)
      return ::Zstd.decompress(bytes) if bytes.bytesize * MAX_EXPANSION <= limit
      stream = ::Zstd::StreamingDecompress.new
      collect(limit) do |add|
        position = 0
        loop do
          piece, taken = stream.decompress_with_pos(bytes.byteslice(position..))
          position += taken
          add.call(piece)
          break if piece.empty? && (taken.zero? || position >= bytes.bytesize)
        end
      end
    end
  end

  # Snappy blocks, which begin with their inflated size as a base-128 number. The gem snappy allocates that size once
  # and never writes beyond it.
  class Compressors::Snappy < Compressors::BuiltIn
    ID = Frame::Layout::COMPRESSOR_SNAPPY

    def deflate(bytes) = ::Snappy.deflate(bytes)

    private

    def expand(bytes, limit)
      leading_size(bytes, limit)
      ::Snappy.inflate(bytes)
    end
  end

  # Brotli streams (RFC 7932), by the gem brotli.
  class Compressors::Brotli < Compressors::BuiltIn
    ID = Frame::Layout::COMPRESSOR_BROTLI
    # The library's default, 11, takes a hundred times as long.
    LEVEL = 5

    def deflate(bytes) = ::Brotli.deflate(bytes, quality: LEVEL)

    private

    def expand(bytes, limit)
      stream = ::Brotli::Decompressor.new
      inflated = stream.process(bytes, output_buffer_limit: limit + 1)
      refuse_rest(inflated.bytesize > limit || (stream.finished? && stream.unused_data.empty?))
      inflated.force_encoding(Encoding::BINARY)
    end
  end
end
