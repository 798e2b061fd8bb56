# frozen_string_literal: true
# quick

require "test_helper"
require_relative "golden_frames"

class GoldenFramesTest < Tiercel::TestCase
  ADVICE = <<~TEXT
    A frame that a release wrote is no longer what it was. Servers and disks are full of such frames, so:
    - if the layout was not meant to change, mend the code;
    - if it was, leave the old number its meaning and take a new one (lib/tiercel/frame/layout.rb,
      lib/tiercel/frame.md), then add golden frames for it with: ruby -Ilib test/golden/golden_frames.rb
    Never edit a line of test/golden/frames.txt.
  TEXT

  # A new version of a library may write different bytes, but must still read the old ones. Nothing writes json now.
  DEPENDS_ON_A_LIBRARY = %w[json zlib lz4 zstd snappy brotli custom_compressor plain_zlib].freeze

  def test_every_frame_is_kept
    assert_equal (GoldenFrames::VALUES.keys + GoldenFrames::PARTS.keys).sort, GoldenFrames.kept.keys.sort, ADVICE
  end

  def test_every_type_compressor_and_part_has_a_golden_frame
    frames = GoldenFrames.kept.values.map { |bytes| Tiercel::Frame.parse(bytes) }

    assert_equal Tiercel::Frame::Layout::TYPES, frames.map(&:type).uniq.sort
    assert_equal Tiercel::Frame::Layout::COMPRESSORS, frames.map(&:compressor).uniq.sort
    %i[version tags lease encoding inflated_bytes stale created_at].each do |part|
      assert frames.any? { |frame| frame.parts.public_send(part) }, "no golden frame has the part #{part}"
    end
  end

  def test_kept_frames_are_read
    each_value do |name, bytes, value, options|
      coder = GoldenFrames.coder(options)
      [coder.load(bytes).value, coder.load_value(bytes, 0.0)].each do |loaded|
        assert_equal Marshal.dump(value), Marshal.dump(loaded), "#{name}\n#{ADVICE}"
      end
      assert_in_delta GoldenFrames::EXPIRES_AT, coder.load(bytes).expires_at, 0, "#{name}\n#{ADVICE}"
    end
  end

  def test_kept_parts_are_read
    GoldenFrames::PARTS.each do |name, parts|
      frame = Tiercel::Frame.parse(GoldenFrames.kept.fetch(name))
      parts.each { |part, value| assert_equal value, frame.parts.public_send(part), "#{name}\n#{ADVICE}" }
      assert_equal "value", frame.payload
    end
  end

  def test_frames_are_written_as_they_are_kept
    GoldenFrames.kept.except(*DEPENDS_ON_A_LIBRARY).each do |name, bytes|
      assert_equal bytes.unpack1("H*"), GoldenFrames.write(name).unpack1("H*"), "#{name}\n#{ADVICE}"
    end
  end

  private

  def each_value
    GoldenFrames.kept.slice(*GoldenFrames::VALUES.keys).each do |name, bytes|
      value, options = GoldenFrames::VALUES.fetch(name)
      yield name, bytes, value, options if options[:compressor].nil? || GoldenFrames.available?(options[:compressor])
    end
  end
end
