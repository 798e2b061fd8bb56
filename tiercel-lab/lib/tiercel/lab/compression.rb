# frozen_string_literal: true

module Tiercel::Lab
  # The compressors of the tables, by name. The compressors call the libraries directly.
  #
  #   Compression.fetch("zstd").build(level: 3).deflate(bytes)
  module Compression
    extend Catalogue

    # A compression library, called as an application would call it.
    class Library
      # @return [String]
      attr_reader :name
      # @return [String, nil] the feature to require
      attr_reader :feature
      # @return [Array<Integer>] levels of the full table; empty if the library has none
      attr_reader :levels
      # @return [Integer, nil] the default level
      attr_reader :default

      # @param name [String]
      # @param deflate [Proc] takes bytes and level
      # @param inflate [Proc] takes bytes
      def initialize(name, deflate:, inflate:, feature: nil, levels: [], default: nil)
        @name = name
        @feature = feature
        @levels = levels
        @default = default
        @deflate = deflate
        @inflate = inflate
      end

      # @param level [Integer, nil]
      # @return [#deflate, #inflate]
      # @raise [UsageError] if the library has no levels
      # @raise [CannotRun] if its gem is missing
      def build(level: nil)
        raise UsageError, "compressor #{name} has no levels" if level && levels.empty?
        Tiercel::Lab.load_gem(feature) if feature
        Codec.new(@deflate, @inflate, level || default)
      end

      # A compressor with the interface that Rails' stores and Tiercel use.
      class Codec
        def initialize(deflate, inflate, level)
          @deflate = deflate
          @inflate = inflate
          @level = level
        end

        # @param bytes [String]
        # @return [String]
        def deflate(bytes) = @deflate.call(bytes, @level)

        # @param bytes [String]
        # @return [String]
        def inflate(bytes) = @inflate.call(bytes)
      end
    end

    # Rails' default. Ratios of the other rows refer to it.
    BASELINE = "zlib"

    add Library.new("none", deflate: ->(bytes, _level) { bytes }, inflate: ->(bytes) { bytes })
    add Library.new("zlib", feature: "zlib", levels: [1, 6, 9], default: 6,
                            deflate: ->(bytes, level) { Zlib::Deflate.deflate(bytes, level) },
                            inflate: ->(bytes) { Zlib::Inflate.inflate(bytes) })
    add Library.new("brotli", feature: "brotli", levels: [1, 5, 9, 11], default: 5,
                              deflate: ->(bytes, level) { Brotli.deflate(bytes, quality: level) },
                              inflate: ->(bytes) { Brotli.inflate(bytes) })
    add Library.new("zstd", feature: "zstd-ruby", levels: [1, 3, 9, 19], default: 3,
                            deflate: ->(bytes, level) { Zstd.compress(bytes, level:) },
                            inflate: ->(bytes) { Zstd.decompress(bytes) })
    add Library.new("snappy", feature: "snappy", deflate: ->(bytes, _level) { Snappy.deflate(bytes) },
                              inflate: ->(bytes) { Snappy.inflate(bytes) })
    # Level 2 is the form "high compression".
    add Library.new("lz4_ruby", feature: "lz4-ruby", levels: [1, 2], default: 1,
                    deflate: ->(bytes, level) { level == 2 ? LZ4.compressHC(bytes) : LZ4.compress(bytes) },
                    inflate: ->(bytes) { LZ4.uncompress(bytes) })
    add Library.new("lz4_flex", feature: "lz4_flex", deflate: ->(bytes, _level) { Lz4Flex::VarInt.compress(bytes) },
                                inflate: ->(bytes) { Lz4Flex::VarInt.decompress(bytes) })

    def self.noun = "compressor"
  end
end
