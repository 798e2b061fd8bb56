# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/ruby_coder"

# The C form decodes a frame's parts with the same results as the Ruby form.
class CodecPartsTest < Tiercel::TestCase
  Parts = Tiercel::Frame::Parts
  Coder = Tiercel::Coder
  TYPES = [0x01, 0x02, 0x03, 0x11, 0x20].freeze
  PAYLOAD = "\x93\x01\x02\x03".b # plain data, and a String
  UNDECIDING = { lease: ["0123456789abcdef".b, 1.7e9], inflated_bytes: 4, stale: [2e9, 3e9],
                 created_at: [1.6e9, 0.25] }.freeze
  TAGS = { "product:1" => (2**64) - 1, "größe" => 0 }.freeze
  NOW = 1.7e9

  def setup
    skip "the extension is not built" unless Tiercel::Codec.native
  end

  def test_parts_that_decide_nothing_leave_a_read_to_c
    each_choice_of(UNDECIDING) do |chosen|
      bytes = frame(0x11, Parts.encode(version: "v", **chosen), expires_at: 2e9)

      assert_equal [1, 2, 3], native(bytes, "v"), chosen
      assert_equal Coder::SLOW, native(bytes, "w"), chosen
      assert_equal Coder::EXPIRED, native(frame(0x11, Parts.encode(**chosen), expires_at: 1e9)), chosen
    end
  end

  def test_a_placeholder_is_a_miss_whatever_it_has
    each_choice_of({ version: "v", tags: TAGS, **UNDECIDING }) do |chosen|
      [nil, 1e9, 2e9].product(["", PAYLOAD]).each do |expires_at, payload|
        bytes = Tiercel::Frame.build(0x20, payload, expires_at:, parts: Parts.encode(**chosen))

        assert_equal Coder::MISS, native(bytes, "w"), chosen
        assert_nil Coder.new.load(bytes), chosen
      end
    end
  end

  # The parts are truncated, altered, repeated, of a wrong size, or critical and unknown.
  def test_both_forms_say_the_same_of_any_parts
    random = Random.new(seed = 20_261_122)
    told = Hash.new(0)
    3_000.times do |round|
      bytes = frame(TYPES.sample(random:), any_parts(random), expires_at: [nil, 1e9, 2e9].sample(random:))
      wanted = [nil, "v", "é", "w"].sample(random:)
      call = %i[load_value load_tagged_value].sample(random:)
      results = [Coder.new, RubyCoder.new].map { |coder| outcome(coder, call, bytes, wanted) }

      assert_equal results.last, results.first, "round #{round} of seed #{seed}: #{bytes.unpack1("H*")}"
      told[results.first.first] += 1
    end
    [:value, Coder::MISS, Coder::EXPIRED, Coder::SLOW, Tiercel::MalformedFrame].each do |result|
      assert_operator told[result], :>, 50, result
    end
  end

  private

  def frame(type, parts, expires_at: nil) = Tiercel::Frame.build(type, PAYLOAD, expires_at:, parts:, checksum: true)

  def native(bytes, version = nil) = Tiercel::Codec.native.load_frame(bytes, NOW, version)

  def each_choice_of(parts)
    (0..parts.size).each { |size| parts.to_a.combination(size).each { |chosen| yield chosen.to_h } }
  end

  def outcome(coder, call, bytes, wanted)
    value = coder.public_send(call, bytes, NOW, wanted)
    Coder::Signal === value ? [value] : [:value, value, (value.encoding if value.is_a?(String))]
  rescue Tiercel::MalformedFrame
    [Tiercel::MalformedFrame]
  end

  def any_parts(random)
    all = { version: ["v", "é", "v".encode("US-ASCII"), "v".b].sample(random:), tags: TAGS, **UNDECIDING }
    chosen = all.to_a.sample(random.rand(all.size + 1), random:).shuffle(random:)
    bytes = chosen.map { |name, value| Parts.encode(name => value) }.join.b
    odd = [[0x7F, 2, "ab"], [0x80, 0, ""], [0x07, 0, ""], [0x04, 4, "nope"]].sample(random:)
    bytes << odd.pack("CS<a*") if random.rand(5).zero?
    bytes << bytes.byteslice(0, random.rand(bytes.bytesize + 1)) if random.rand(8).zero?
    bytes.setbyte(random.rand(bytes.bytesize), random.rand(256)) if random.rand(4).zero? && !bytes.empty?
    random.rand(8).zero? ? bytes.byteslice(0, random.rand(bytes.bytesize + 1)) : bytes
  end
end
