# frozen_string_literal: true

# The built-in compressors, by name. docs/compressors.md compares them.
#
# A compressor responds to `deflate(bytes) -> String`, `inflate(bytes, inflated_bytes:, limit:) -> String` and `id`,
# the number in a frame's header that identifies it. A user's own compressor needs only `deflate` and `inflate` (or
# `compress` and `decompress`) with one argument.
module Tiercel::Compressors
  autoload :Bounds, "tiercel/compressors/bounds"
  autoload :Brotli, "tiercel/compressors/brotli"
  autoload :Custom, "tiercel/compressors/custom"
  autoload :LZ4, "tiercel/compressors/lz4"
  autoload :Snappy, "tiercel/compressors/snappy"
  autoload :Zlib, "tiercel/compressors/zlib"
  autoload :Zstd, "tiercel/compressors/zstd"

  REGISTRY = Tiercel::Registry.new("compressor")

  REGISTRY.register(:none) { nil }
  REGISTRY.register(:zlib) { Zlib.new }
  REGISTRY.register(:lz4) { LZ4.new }
  over = lambda do |gem, name, &make|
    REGISTRY.register(name, gem: gem, version: Tiercel::OptionalGems.requirement(gem)) do
      make.call.tap { Tiercel::OptionalGems.check(gem) }
    end
  end
  over.call("zstd-ruby", :zstd) { Zstd.new }
  over.call("snappy", :snappy) { Snappy.new }
  over.call("brotli", :brotli) { Brotli.new }

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

    # @param option [Symbol, String, nil, Array(Symbol, Hash), #deflate, #compress] the `compressor:` option: a
    #   name, a name with its options (`[:zstd, { level: 3 }]`), nil for none, or an object
    # @return [Object, nil] a compressor, nil for none
    # @raise [ConfigurationError] if the option is none of these
    # @raise [MissingDependency] if the compressor's library is not installed
    def build(option)
      case option
      when nil, :none, "none" then nil
      when Symbol, String then REGISTRY.fetch(option)
      when Array then build_with_options(*option)
      else wrap(option)
      end
    end

    private

    def build_with_options(name, options = {})
      compressor = build(name)
      return compressor if options.empty?
      compressor.class.new(**options)
    rescue ArgumentError => error
      raise Tiercel::ConfigurationError,
        "compressor #{Tiercel::Redacted.text(name)}, options #{Tiercel::Redacted.text(options)}: " \
        "#{error.message}"
    end

    def wrap(object)
      return REGISTRY.fetch(:zlib) if defined?(::Zlib) && object.equal?(::Zlib)
      return object if object.respond_to?(:id) && NAMES.key?(object.id)
      Custom.new(object)
    end
  end
end
