# frozen_string_literal: true

require "test_helper"
require "open3"
require "rbconfig"

class CodecTest < Tiercel::TestCase
  LIB = File.expand_path("../lib", __dir__)
  SCRIPT = <<~RUBY
    require "tiercel"
    coder = Tiercel::Coder.new
    p Tiercel::Codec.native, coder.load_value(coder.dump_value({ a: [1] }, nil, nil)) == { a: [1] }
  RUBY

  def test_the_extension_can_be_left_out
    assert_equal "nil\ntrue\n", run_ruby({ "TIERCEL_PURE_RUBY" => "1" })
  end

  # Otherwise a Ruby with another layout of Hashes would be slow without anybody noticing.
  def test_where_it_was_built_it_is_used
    skip "the extension is not built" if Dir["#{LIB}/tiercel/codec_ext.*"].empty? || ENV["TIERCEL_PURE_RUBY"]
    require "tiercel/codec_ext"

    assert_equal Tiercel::CodecExt, Tiercel::Codec.native
  end

  def test_a_checksum_needs_no_zlib_headers
    skip "the extension is not built" unless Tiercel::Codec.native
    assert_includes [true, false], Tiercel::Codec.native::CHECKSUM
    coders = [nil, Tiercel::Codec.native].map { |native| Tiercel::Coder.new(native:, checksum: true) }
    frames = coders.map { |coder| coder.dump_value("x" * 3_000_000, nil, nil, false) }

    assert frames.uniq.one?
    assert coders.all? { |coder| coder.load_value(frames.first, 0.0) == "x" * 3_000_000 }
  end

  private

  def run_ruby(environment)
    output, status = Open3.capture2e(environment, RbConfig.ruby, "-I#{LIB}", "-e", SCRIPT)
    assert_predicate status, :success?, output
    output
  end
end
