# frozen_string_literal: true

# Frames from the first release, in frames.txt: each line has a name and the bytes in hexadecimal. Servers keep their
# memory across releases, so every one of these frames must stay readable forever.
module GoldenFrames
  FILE = File.expand_path("frames.txt", __dir__)
  TEXT = ("<li class=\"row\">größe</li>\n" * 8).freeze
  DATA = { id: 1, "name" => "größe", rate: 0.5, list: [nil, true, false, -1, 2**40], ascii: "a".encode("US-ASCII"),
           binary: "\xFF\x00".b }.freeze

  # An application's own serializer and compressor.
  module Own
    def self.dump(value) = "own:#{Marshal.dump(value)}"
    def self.load(bytes) = Marshal.load(bytes.byteslice(4..))
    def self.deflate(bytes) = "own:#{Zlib.deflate(bytes)}"
    def self.inflate(bytes) = Zlib.inflate(bytes.byteslice(4..))
  end

  VALUES = {
    "string_utf_8" => ["größe", {}],
    "string_binary" => ["\xFF\x00".b, {}],
    "string_us_ascii" => ["plain".encode("US-ASCII"), {}],
    "string_utf_16" => ["größe".encode("UTF-16LE"), {}],
    "string_shift_jis" => ["\x83e".dup.force_encoding("Shift_JIS"), {}],
    "marshal" => [[1..2, "größe"], { serializer: :marshal }],
    "plain" => [DATA, { serializer: :auto }],
    "plain_nil" => [nil, { serializer: :auto }],
    "auto_marshal" => [2**70, { serializer: :auto }],
    "message_pack" => [{ a: [1, "b", 2**70] }, { serializer: :message_pack }],
    "json" => [{ "a" => [1, nil, "größe"] }, { serializer: :as_json }],
    "as_json" => [{ "a" => [1, nil, "größe"] }, { serializer: :as_json }],
    "custom_serializer" => [[1, "own"], { serializer: Own }],
    "checksum" => ["checked", { checksum: true }],
    "zlib" => [TEXT, { compressor: :zlib }],
    "lz4" => [TEXT, { compressor: :lz4 }],
    "zstd" => [TEXT, { compressor: :zstd }],
    "snappy" => [TEXT, { compressor: :snappy }],
    "brotli" => [TEXT, { compressor: :brotli }],
    "custom_compressor" => [TEXT, { compressor: Own }],
    "plain_zlib" => [[TEXT], { compressor: :zlib, serializer: :auto }],
  }.freeze

  # The expiry of the frames.
  EXPIRES_AT = 1_800_000_000.25
  PARTS = {
    "part_version" => { version: "products/1-20260101" },
    "part_version_other_encoding" => { version: "größe".encode("ISO-8859-1") },
    "part_tags" => { tags: { "product:1" => "\x10\x32\x54\x76\x98\xBA\xDC\xFE".b, "größe" => "\x07#{"\0" * 7}" } },
    "part_lease" => { lease: ["0123456789abcdef".b, 1_800_000_000.5] },
    "part_encoding" => { encoding: Encoding::EUC_JP },
    "part_inflated_bytes" => { inflated_bytes: 123_456 },
    "part_stale" => { stale: [1_800_000_001.5, 1_800_000_002.5] },
    "part_created_at" => { created_at: [1_700_000_000.5, 0.25] },
    "part_exclusive" => { exclusive: true },
    "placeholder" => { lease: ["0123456789abcdef".b, 1_800_000_000.5], version: "1" },
  }.freeze

  class << self
    # @return [Hash{String => String}] names and bytes in the file
    def kept
      File.readlines(FILE, chomp: true).to_h { |line| line.split(" ", 2) }.transform_values { |hex| [hex].pack("H*") }
    end

    # @return [Tiercel::Coder]
    def coder(options)
      Tiercel::Coder.new(**{ compressor: nil, checksum: false }, **options)
    end

    # @return [String, nil] the frame that the current code writes; nil without the compressor's gem
    def write(name)
      return write_parts(name) if PARTS.key?(name)
      value, options = VALUES.fetch(name)
      return unless options[:compressor].nil? || available?(options[:compressor])
      coder(options).dump_value(value, EXPIRES_AT, nil, true, 1)
    end

    # @return [Boolean]
    def available?(compressor)
      !compressor.is_a?(Symbol) || Tiercel::Compressors::REGISTRY.available?(compressor)
    end

    private

    def write_parts(name)
      parts = Tiercel::Frame::Parts.encode(**PARTS.fetch(name))
      layout = Tiercel::Frame::Layout
      type = name == "placeholder" ? layout::TYPE_PLACEHOLDER : layout::TYPE_STRING_UTF_8
      Tiercel::Frame.build(type, "value", expires_at: EXPIRES_AT, parts:, checksum: true)
    end
  end
end

# ruby -Ilib test/golden/golden_frames.rb adds missing frames. The program never changes an existing one.
if $PROGRAM_NAME == __FILE__
  require "tiercel"
  require_relative "../support/available"
  kept = File.exist?(GoldenFrames::FILE) ? GoldenFrames.kept.keys : []
  missing = GoldenFrames::VALUES.keys + GoldenFrames::PARTS.keys - kept
  File.open(GoldenFrames::FILE, "a") do |file|
    missing.each { |name| file.puts "#{name} #{GoldenFrames.write(name).unpack1("H*")}" }
  end
end
