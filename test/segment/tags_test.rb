# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/segment"

# The extension reads entries with tags with the same results as Ruby. Arbitrary bytes: test/native/bytes_fuzzer.c.
class SegmentTagsTest < Tiercel::TestCase
  include Tiercel::Frame::Layout

  KEYS = ["one", "two", "x" * 200].freeze
  GENERATIONS = [1, (2**64) - 1, 0xF5F5_0000].map { |number| [number].pack("Q<") }.freeze
  STRINGS = ["", "text", "größe", "\xFF\x00".b, "a" * 3_000, "plain".encode("US-ASCII")].freeze

  def setup
    super
    @segment = Tiercel::Segment.open(bytes: 4 << 20)
    KEYS.zip(GENERATIONS) { |key, generation| @segment.set(key, generation, nil) }
  end

  def teardown
    @segment.close
    super
  end

  def test_a_string_with_the_wanted_version_and_current_tags_comes_decoded
    STRINGS.each do |string|
      [{}, { ends: Time.now.to_f + 60 }, { version: "1" }, { version: "é", tags: nil }].each do |parts|
        @segment.set("name", frame(string, **parts), nil)
        2.times do
          value = @segment.read("name", parts[:version])
          assert_equal [string, string.encoding, false], [value, value.encoding, value.frozen?]
          assert_equal "#{string}!", value << "!"
        end
        found = @segment.read_multi(["name"], framed = [], [parts[:version]])
        assert_equal [string, []], [found["name"], framed]
      end
    end
  end

  def test_everything_else_is_left_to_ruby
    lost, gone = %w[two three].map { |name| { "one" => 1, name => 2 } }
    [frame("s", tags: lost), frame("s", tags: gone), frame("s", ends: 1.0), frame("s", version: "1"),
     frame("s", checksum: true), frame("s", type: TYPE_PLAIN), frame("s", compressor: COMPRESSOR_ZLIB)].each do |bytes|
      @segment.set("name", bytes, nil)
      reads = [nil, "2", "10", "1".encode("UTF-16LE"), "1".b, 1].map { |version| @segment.read("name", version) }
      reads.each { |read| assert_equal [bytes, true], [read, read.frozen?] }
      assert_equal ["name"], [].tap { |framed| @segment.read_multi(["name"], framed) }
    end
    @segment.set("one", "counter", nil)
    refute @segment.tags_current?(frame("s")), "not a generation"
  end

  def test_tags_current
    assert @segment.tags_current?(frame("s"))
    assert @segment.tags_current?(frame("s", version: "1", type: TYPE_MARSHAL))
    refute @segment.tags_current?(frame("s", tags: nil)), "it has no tags"
    refute @segment.tags_current?("")
    @segment.delete(KEYS.last)
    refute @segment.tags_current?(frame("s"))
    assert_raises(TypeError) { @segment.tags_current?(nil) }
  end

  private

  def frame(string, tags: KEYS.zip(GENERATIONS).to_h, version: nil, ends: nil, type: nil, **options)
    type ||= STRING_TYPES.fetch(string.encoding)
    parts = Tiercel::Frame::Parts.encode(version: version, tags: tags)
    Tiercel::Frame.build(type, string, parts: parts, expires_at: ends, **options)
  end
end
