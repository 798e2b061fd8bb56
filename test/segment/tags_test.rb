# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/ruby_coder"
require "tiercel"
require "tiercel/segment"

# The extension reads entries with tags with the same results as Ruby, whatever the bytes are.
class SegmentTagsTest < Tiercel::TestCase
  include Tiercel::Frame::Layout

  Coder = Tiercel::Coder
  KEYS = ["one", "two", "x" * 200].freeze
  GENERATIONS = [1, (2**64) - 1, 0xF5F5_0000].freeze
  STRINGS = ["", "text", "größe", "\xFF\x00".b, "a" * 3_000, "plain".encode("US-ASCII")].freeze

  def setup
    super
    @segment = Tiercel::Segment.open(bytes: 4 << 20)
    KEYS.zip(GENERATIONS) { |key, generation| @segment.set(key, [generation].pack("Q<"), nil) }
  end

  def teardown
    @segment.close
    super
  end

  def test_a_string_with_current_tags_comes_decoded
    STRINGS.each do |string|
      [nil, Time.now.to_f + 60].each do |ends|
        @segment.set("name", frame(string, ends: ends), nil)
        2.times do
          value = @segment.read("name")
          assert_equal [string, string.encoding, false], [value, value.encoding, value.frozen?]
          assert_equal "#{string}!", value << "!"
        end
        assert_equal string, @segment.read_multi(["name"], framed = [])["name"]
        assert_empty framed
      end
    end
  end

  def test_everything_else_is_left_to_ruby
    lost = { "one" => 1, "two" => 2 }
    gone = { "one" => 1, "three" => 3 }
    [frame("s", tags: lost), frame("s", tags: gone), frame("s", ends: 1.0), frame("s", version: "1"),
     frame("s", checksum: true), frame("s", type: TYPE_PLAIN), frame("s", compressor: COMPRESSOR_ZLIB)].each do |bytes|
      @segment.set("name", bytes, nil)
      assert_equal [bytes, true], [@segment.read("name"), @segment.read("name").frozen?]
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

  # Truncated, altered or repeated tags are never trusted.
  def test_hostile_bytes
    random = Random.new(seed = 20_261_122)
    coder = RubyCoder.new
    told = Hash.new(0)
    6_000.times do |round|
      bytes = mutated(frame(STRINGS.sample(random: random), ends: [nil, 1.0, 4e9].sample(random: random)), random)
      @segment.tags_current?(bytes)
      @segment.set("name", bytes, nil)
      value = @segment.read("name")
      told[value.frozen?] += 1
      next if value.frozen?
      assert_equal coder.load_tagged_value(bytes), value, "round #{round} of seed #{seed}: #{bytes.unpack1("H*")}"
      tags = Tiercel::Frame.parse(bytes).parts.tags
      tags&.each { |key, generation| assert_equal [generation].pack("Q<"), @segment.get(key) }
    end
    assert_operator told.values_at(true, false).min, :>, 200
  end

  private

  def frame(string, tags: KEYS.zip(GENERATIONS).to_h, version: nil, ends: nil, type: nil, **options)
    type ||= STRING_TYPES.fetch(string.encoding)
    parts = Tiercel::Frame::Parts.encode(version: version, tags: tags)
    Tiercel::Frame.build(type, string, parts: parts, expires_at: ends, **options)
  end

  # Half of them keep a valid header.
  def mutated(bytes, random)
    case random.rand(4)
    when 0 then bytes
    when 1 then bytes.byteslice(0, random.rand(bytes.bytesize + 1))
    else
      bytes.setbyte(random.rand([bytes.bytesize, 80].min), random.rand(256))
      random.rand(2).zero? ? bytes : repaired(bytes)
    end
  end

  def repaired(bytes)
    fold = bytes.byteslice(0, HEADER_BYTES).bytes.reduce(:^)
    bytes.setbyte(HEADER_CHECK_AT, bytes.getbyte(HEADER_CHECK_AT) ^ fold ^ HEADER_CHECK)
    bytes
  end
end
