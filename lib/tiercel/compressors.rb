# frozen_string_literal: true

# The built-in compressors, by name. docs/compressors.md compares them.
#
# A compressor responds to `deflate(bytes) -> String`, `inflate(bytes, inflated_bytes:, limit:) -> String` and `id`,
# the number in a frame's header that identifies it. A user's own compressor needs only `deflate` and `inflate` (or
# `compress` and `decompress`) with one argument.
module Tiercel::Compressors
  autoload :Custom, "tiercel/compressors/custom"
  %i[BuiltIn Brotli LZ4 Snappy Zlib Zstd].each { |name| autoload name, "tiercel/compressors/built_in" }

  # Maximum size of an inflated payload: a few bytes can inflate to gigabytes. The store does not compress larger ones.
  INFLATE_LIMIT = 128 * 1024 * 1024

  REGISTRY = Tiercel::Registry.new("compressor")

  REGISTRY.register(:none) { nil }
  REGISTRY.register(:zlib) { Zlib.new }
  REGISTRY.register(:lz4) { LZ4.new }
  { zstd: "zstd-ruby", snappy: "snappy", brotli: "brotli" }.each do |name, gem|
    REGISTRY.register(name, gem:) do
      require gem
      const_get(name.capitalize).new
    end
  end

  # The built-in compressors by their number in a frame.
  NAMES = {
    Tiercel::Frame::Layout::COMPRESSOR_ZLIB => :zlib,
    Tiercel::Frame::Layout::COMPRESSOR_LZ4 => :lz4,
    Tiercel::Frame::Layout::COMPRESSOR_ZSTD => :zstd,
    Tiercel::Frame::Layout::COMPRESSOR_SNAPPY => :snappy,
    Tiercel::Frame::Layout::COMPRESSOR_BROTLI => :brotli,
  }.freeze

  class << self
    # @return [Symbol] the default compressor
    def default = LZ4.available? ? :lz4 : :zlib

    # @param option [Symbol, String, nil, #deflate, #compress] the `compressor:` option: a name, nil for none, or an
    #   object
    # @return [Object, nil] a compressor, nil for none
    # @raise [ConfigurationError] if the option is none of these
    # @raise [MissingDependency] if the compressor's library is not installed
    def build(option)
      case option
      when nil, :none, "none" then nil
      when Symbol, String then REGISTRY.fetch(option)
      else Custom.new(option)
      end
    end
  end
end
