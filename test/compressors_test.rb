# frozen_string_literal: true
# quick

require "test_helper"

class CompressorsTest < Tiercel::TestCase
  Compressors = Tiercel::Compressors

  def test_every_number_has_a_name_and_every_name_its_number
    available = Compressors::NAMES.select { |_, name| Compressors::REGISTRY.available?(name) }

    refute_empty available
    available.each { |id, name| assert_equal id, Compressors::REGISTRY.fetch(name).id }
  end

  # A process whose system lacks liblz4 reads the frames of a process that has it as misses.
  def test_without_liblz4_the_default_is_zlib
    assert_equal :lz4, Compressors.default
    with_tmpdir do |directory|
      Tiercel.new("file:#{directory}").write("key", "text" * 1_000)
      found = fork_and_wait(1) { without_liblz4("file:#{directory}") }.first
      assert_equal [:zlib, nil, 1, "text" * 1_000], found.drop(1)
      assert_match(/liblz4\.so\.1.*lz4-libs/, found.first)
    end
  end

  def without_liblz4(url)
    %i[lz4_deflate lz4_inflate].each { |name| Tiercel::CodecExt.singleton_class.undef_method(name) }
    Compressors::REGISTRY.register(:lz4) { Compressors::LZ4.new }
    error = assert_raises(Tiercel::MissingDependency) { Tiercel.new("memory:", compressor: :lz4) }
    store = Tiercel.new(url)
    value = nil
    reports = capture_reports { value = store.read("key") }
    store.write("key", "text" * 1_000)
    [error.message, Compressors.default, value, reports.size, store.read("key")]
  end

  def test_none
    [nil, :none, "none"].each { |option| assert_nil Compressors.build(option) }
  end

  def test_names
    zlib = Compressors::REGISTRY.fetch(:zlib)

    [:zlib, "zlib"].each { |option| assert_same zlib, Compressors.build(option) }
  end

  def test_an_unknown_name
    error = assert_raises(Tiercel::ConfigurationError) { Compressors.build(:lzma) }

    assert_match(/unknown compressor :lzma: expected one of brotli/, error.message)
  end

  def test_a_missing_gem_is_named_with_its_gemfile_line
    missing = %i[lz4 zstd snappy brotli].reject { |name| Compressors::REGISTRY.available?(name) }
    skip "every compressor is installed in this bundle" if missing.empty?
    missing.each do |name|
      error = assert_raises(Tiercel::MissingDependency) { Compressors.build(name) }

      assert_match(/Add to the Gemfile: gem "/, error.message)
    end
  end

  def test_a_frame_whose_compressor_is_not_installed_is_malformed
    missing = Compressors::NAMES.find { |_, name| !Compressors::REGISTRY.available?(name) }
    skip "every compressor is installed in this bundle" unless missing
    parts = Tiercel::Frame::Parts.encode(inflated_bytes: 10)
    frame = Tiercel::Frame.build(0x01, "x", compressor: missing.first, parts:)
    error = assert_raises(Tiercel::MalformedFrame) { Tiercel::Coder.new.load_value(frame, 0.0) }

    assert_match(/Gemfile/, error.message)
  end
end
