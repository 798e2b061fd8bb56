# frozen_string_literal: true

require "test_helper"

# Whatever bytes a backend returns, reading them yields a value or one of three errors. The store turns each error
# into a miss and a report.
class CoderDamageTest < Tiercel::TestCase
  EXPECTED = [Tiercel::MalformedFrame, Tiercel::SerializationError, ActiveSupport::Cache::DeserializationError].freeze
  SAMPLES = [
    "text", "größe".encode("UTF-16LE"), nil, -5, [1, 2.5, "a", :b, { "k" => [nil, true], c: "\xFF".b }],
    { "ascii".encode("US-ASCII") => ["x" * 300, 2**63, -(2**40)] }, Time.at(0, in: "UTC"), [1..2, "m"],
  ].freeze

  def test_truncated_frames
    each_frame do |frame|
      (1...frame.bytesize).each { |size| assert_malformed(frame.byteslice(0, size)) } # no bytes are a raw ""
    end
  end

  def test_flipped_bits_with_a_checksum_are_all_found
    each_frame(checksum: true) do |frame|
      each_flip(frame) { |flipped| assert_malformed(flipped) }
    end
  end

  def test_flipped_bits_without_a_checksum
    each_frame(checksum: false) do |frame|
      each_flip(frame) { |flipped| assert_includes [:value, *EXPECTED], outcome(flipped) }
    end
  end

  def test_random_payloads_under_a_sound_header
    random = Random.new(7)
    Tiercel::Frame::Layout::TYPES.each do |type|
      200.times do
        frame = Tiercel::Frame.build(type, random.bytes(random.rand(40)))
        assert_includes [:value, *EXPECTED], outcome(frame), frame.inspect
      end
    end
  end

  def test_payloads_of_mutated_msgpack
    random = Random.new(11)
    payloads = SAMPLES.filter_map { |value| Tiercel::CodecExt.dump(value) }.reject { |bytes| bytes.size < 4 }
    2_000.times do
      payload = payloads.sample(random:).dup
      random.rand(1..4).times { payload.setbyte(random.rand(payload.bytesize), random.rand(256)) }
      assert_includes [:value, *EXPECTED], outcome(Tiercel::Frame.build(0x11, payload)), payload.inspect
    end
  end

  def test_sizes_that_the_payload_cannot_hold
    ["\xDD\xFF\xFF\xFF\xFF", "\xDF\xFF\xFF\xFF\xFF", "\xDB\xFF\xFF\xFF\xFFa", "\xC6\xFF\xFF\xFF\xFFa",
     "\xC9\xFF\xFF\xFF\xFF\x00a", "\xDC\xFF\xFF\x01", "\x9F\x01", "\x8F\x01"].each do |payload|
      assert_malformed Tiercel::Frame.build(0x11, payload.b)
    end
  end

  def test_payloads_nested_without_end
    [1_000, 200_000].each do |depth|
      assert_includes [:value, *EXPECTED], outcome(Tiercel::Frame.build(0x11, ("\x91" * depth).b + "\xC0".b))
    end
    assert_includes [:value, *EXPECTED], outcome(nested_marshal(1_000))
  end

  # Runs in a child process: Ruby's Marshal stops only at the end of the machine's stack, and Ruby crashes if it
  # collects garbage there.
  def test_marshal_payloads_nested_without_end
    child = ForkedChildren.new(1, within: 60) { stopped_by_signals_quietly { outcome(nested_marshal(200_000)) } }
    result = child.run.first
    return assert_includes [:value, *EXPECTED], result.value if result.failure.nil?
    assert_match(/ended without an answer: .*SIG(SEGV|ABRT)/, result.failure)
  end

  def test_bytes_behind_a_payload
    assert_malformed Tiercel::Frame.build(0x11, "\x01\x01".b)
  end

  def test_symbols_that_are_not_utf_8
    assert_malformed Tiercel::Frame.build(0x11, "\xD4\x00\xFF".b)
  end

  def test_extension_types_that_plain_data_does_not_have
    assert_malformed Tiercel::Frame.build(0x11, "\xD4\x02a".b)
    assert_malformed Tiercel::Frame.build(0x11, "\xD6\xFF\x00\x00\x00\x01".b)
  end

  private

  def coder = @coder ||= Tiercel::Coder.new

  def nested_marshal(depth) = Tiercel::Frame.build(0x10, "\x04\b".b + ("[\x06" * depth).b + "0".b)

  def stopped_by_signals_quietly
    Process.setrlimit(:CORE, 0)
    $stderr.reopen(IO::NULL)
    yield
  end

  def each_frame(checksum: true)
    SAMPLES.each do |value|
      maker = Tiercel::Coder.new(checksum:)
      yield maker.dump_value(value, nil, nil, false, 0)
      yield maker.dump_value(value, 4e9, "version", true, 1)
    end
  end

  def each_flip(frame)
    (frame.bytesize * 8).times do |bit|
      flipped = frame.dup
      flipped.setbyte(bit / 8, flipped.getbyte(bit / 8) ^ (1 << (bit % 8)))
      yield flipped
    end
  end

  # Reads in both ways, which must agree.
  def outcome(bytes)
    lean = attempt { coder.load_value(bytes, 0.0) }
    entry = attempt { coder.load(bytes)&.value }
    [lean, entry].max_by { |result| result == :value ? 0 : 1 }
  end

  def attempt
    yield
    :value
  rescue *EXPECTED => error
    error.class
  end

  def assert_malformed(bytes)
    assert_raises(Tiercel::MalformedFrame, ActiveSupport::Cache::DeserializationError, bytes.inspect) do
      coder.load(bytes)&.value
    end
    return unless Tiercel::Frame.frame?(bytes)
    assert_raises(Tiercel::MalformedFrame, bytes.inspect) { coder.load_value(bytes, 0.0) }
  end
end
