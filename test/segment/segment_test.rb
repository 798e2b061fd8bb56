# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "timeout"
require "tiercel/segment"

class SegmentTest < Tiercel::TestCase
  Frame = Tiercel::Frame

  def setup
    super
    @segment = Tiercel::Segment.open(bytes: 4 << 20)
  end

  def test_a_plain_string_is_read_decoded_fresh_and_mutable
    { "hé" => Encoding::UTF_8, "\xFF\x00".b => Encoding::BINARY, "ascii".encode("US-ASCII") => Encoding::US_ASCII,
      "" => Encoding::UTF_8, "x" * 5_000 => Encoding::UTF_8 }.each do |string, encoding|
      assert_equal true, @segment.write_string("key", string, nil, nil)
      first = @segment.read("key")
      assert_equal string, first
      assert_equal encoding, first.encoding
      refute_predicate first, :frozen?
      refute_same first, @segment.read("key")
    end
  end

  def test_what_write_string_stores_is_the_frame_that_ruby_builds
    type = Frame::Layout::TYPE_STRING_UTF_8
    @segment.write_string("key", "value", nil, nil)
    assert_equal Frame.build(type, "value"), @segment.get("key")
    @segment.write_string("key", "value", 1_900_000_000.5, nil)
    assert_equal Frame.build(type, "value", expires_at: 1_900_000_000.5), @segment.get("key")
    @segment.set("key", Frame.build(type, "built in Ruby"))
    assert_equal "built in Ruby", @segment.read("key")
  end

  def test_other_encodings_are_left_to_ruby
    assert_nil @segment.write_string("key", "x".encode("UTF-16LE"), nil, nil)
    assert_nil @segment.get("key")
  end

  def test_every_other_frame_comes_back_whole_and_frozen
    type = Frame::Layout::TYPE_STRING_UTF_8
    { "with a checksum" => Frame.build(type, "value", checksum: true),
      "with parts" => Frame.build(type, "value", parts: "part"),
      "compressed" => Frame.build(type, "value", compressor: 1),
      "of another type" => Frame.build(0x10, "value"),
      "no frame" => "anything", "empty" => "", "cut off" => Frame.build(type, "value")[0, 23],
      "too long" => Frame.build(type, "value") + "x",
      "altered" => Frame.build(type, "value").tap { |frame| frame.setbyte(9, 1) },
      "over" => Frame.build(type, "value", expires_at: 1.0) }.each do |what, bytes|
      @segment.set("key", bytes)
      assert_equal bytes.b, @segment.read("key"), what
      assert_predicate @segment.read("key"), :frozen?, what
    end
  end

  def test_a_token_knows_every_change_and_no_move
    @segment.set("key", "value")
    _, token = @segment.get_with_token("key")
    2_000.times { |index| @segment.set("filler#{index}", "x" * 1_000) } # promotes it, its entry moves
    assert_equal token, @segment.get_with_token("key").last
    @segment.set("key", "value")
    refute_equal token, @segment.get_with_token("key").last
    assert_equal false, @segment.compare_and_set("key", "new", token)
    ["no token", nil].each { |other| assert_equal false, @segment.compare_and_set("key", "new", other) }
  end

  def test_time_is_what_the_process_says
    @segment.set("key", "value", 10)
    @segment.write_string("string", "value", Time.now.to_f + 10, nil)
    travel(11) do
      assert_nil @segment.get("key")
      assert_predicate @segment.read("string"), :frozen?
    end
    travel(-100) { assert_equal "value", @segment.get("key") }
  end

  def test_a_clock_that_raises_leaves_nothing_locked
    @segment.set("key", "value", 10)
    Time.stub(:now, -> { raise "no time" }) do
      assert_raises(RuntimeError) { @segment.get("key") }
      assert_raises(RuntimeError) { @segment.add("key", "value") }
      assert_raises(RuntimeError) { @segment.delete("key") }
    end
    assert_equal true, @segment.set("key", "again")
    assert_equal "again", @segment.get("key")
  end

  # Values above 512 KB, which no write moves: if the small log is full, they go to the main log while it has space.
  def test_large_values_are_overwritten_and_nothing_is_lost
    large = Tiercel::Segment.open(bytes: 64 << 20, shards: 1)
    keys = Array.new(20) { |i| "key#{i}" }
    keys.each { |key| assert large.set(key, key * 150_000) }
    keys.first(8).each { |key| assert large.set(key, key.upcase * 150_000) }
    assert_equal((["KE"] * 8) + (["ke"] * 12),
                 keys.map { |key| large.get(key)&.slice(0, 2) })
    assert_equal 0, large.stats[:evictions]
  ensure
    large&.close
  end

  def test_the_same_hash_key_makes_the_same_evictions
    left = Array.new(2) do
      segment = Tiercel::Segment.open(bytes: 1 << 20, hash_key: "0123456789abcdef")
      9_000.times do |index|
        segment.get("key#{index % 2_900}") || segment.set("key#{index % 2_900}", "x" * (index % 1_500))
      end
      segment.scan.sort
    end
    assert_equal left[0], left[1]
    assert_operator left[0].size, :<, 2_900
  end

  def test_it_survives_gc_stress_and_compaction
    values = Array.new(20) { |index| "value #{index}" * (1 + index * 10) }
    GC.stress = true
    values.each_with_index { |value, index| @segment.write_string("key#{index}", value, nil, nil) }
    read = @segment.read_multi(Array.new(20) { |index| "key#{index}" })
    token = @segment.get_with_token("key1").last
    GC.stress = false
    GC.verify_compaction_references(toward: :empty, expand_heap: true) if GC.respond_to?(:verify_compaction_references)
    assert_equal values, read.values
    assert_equal token, @segment.get_with_token("key1").last
    assert_equal values[3], @segment.read("key3")
  ensure
    GC.stress = false
  end

  # Normally only after 281 TB of writes; here the header says so.
  def test_private_memory_whose_positions_are_used_up_begins_anew
    skip "[environment] needs /proc" unless File.readable?("/proc/self/maps")
    @segment.set("key", "value")
    retire(@segment)
    Timeout.timeout(30) { assert_equal false, @segment.delete("key") }
    assert_equal true, @segment.set("key", "again")
    assert_equal "again", @segment.get("key")
  end

  # Writes 1 to the header's `retired`, four bytes after the beginning of the epoch's cache line.
  def retire(segment)
    magic_and_id = ["Trclset1", segment.file_id]
    File.open("/proc/self/mem", "r+b") do |memory|
      start = File.foreach("/proc/self/maps").filter_map { |line| line[/\A(\h+)-\h+ rw-p/, 1]&.hex }.find do |at|
        memory.pread(24, at).unpack("a8x8Q<") == magic_and_id
      rescue SystemCallError, EOFError
        false
      end
      memory.pwrite([1].pack("L<"), start + 260)
    end
  end

  def test_wrong_arguments
    assert_raises(TypeError) { @segment.get(:symbol) }
    assert_raises(TypeError) { @segment.set("key", 1) }
    assert_raises(TypeError) { @segment.get_multi("key") }
    assert_raises(ArgumentError) { @segment.set("key") }
    assert_raises(NoMethodError) { Tiercel::Segment.new }
    assert_raises(ArgumentError) { Tiercel::Segment.allocate.get("key") }
    assert_raises(Tiercel::ConfigurationError) { Tiercel::Segment.open(bytes: 1000) }
  end
end
