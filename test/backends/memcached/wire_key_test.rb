# frozen_string_literal: true
# suites: store

require "test_helper"

class WireKeyTest < Tiercel::TestCase
  WireKey = Tiercel::Backends::Memcached::WireKey

  # Keys and their encoded form, equal to that of Rails' MemCacheStore, so that both find the same entries.
  PAIRS = {
    "views/users:1" => "views/users:1",
    "a b" => "a%20b",
    "100%" => "100%25",
    "größe" => "gr%C3%B6%C3%9Fe",
    "\x00\x7F".b => "%00%7F",
    "\xFF".b => "%FF",
    "a\r\nset x" => "a%0D%0Aset%20x",
    "k" * 250 => "k" * 250,
  }.freeze

  def test_encode_and_decode
    PAIRS.each do |key, wire_key|
      assert_equal wire_key, WireKey.encode(key)
      assert_equal key.b, WireKey.decode(wire_key).b
    end
  end

  def test_every_wire_key_is_one_for_memcached
    random = Random.new(7)
    keys = Array.new(500) { random.bytes(random.rand(1..400)) }
    wire_keys = keys.map { |key| WireKey.encode(key) }
    assert(wire_keys.all? { |key| key.bytesize.between?(1, 250) && !key.b.match?(/[\x00-\x20\x7F]/n) })
    assert_equal keys.uniq.size, wire_keys.uniq.size
    keys.zip(wire_keys) do |key, wire_key|
      decoded = WireKey.decode(wire_key)
      assert_equal key, decoded.b if decoded
    end
  end

  def test_many_high_bytes_stay_readable
    key = "ключ" * 30
    wire_key = WireKey.encode(key)
    assert_operator wire_key.bytesize, :<=, 250
    assert_equal key.b, WireKey.decode(wire_key).b
  end

  def test_what_is_too_long_becomes_a_digest_that_keeps_its_beginning
    one = WireKey.encode("ns:#{"k" * 300}a")
    two = WireKey.encode("ns:#{"k" * 300}b")
    refute_equal one, two
    assert_equal [250, nil], [one.bytesize, WireKey.decode(one)]
    assert_equal [true, false], %w[ns: other:].map { |prefix| one.start_with?(*WireKey.beginnings(prefix)) }
  end

  def test_a_key_that_looks_like_an_encoded_one_is_another_key
    refute_equal WireKey.encode("a b"), WireKey.encode("a%20b")
    refute_equal WireKey.encode("%="), WireKey.encode("%" + "=")[0, 2]
    assert_equal "%253D", WireKey.encode("%3D")
  end

  def test_encodings_make_no_difference
    assert_equal WireKey.encode("größe"), WireKey.encode("größe".b)
    assert_equal WireKey.encode("größe".encode("UTF-16LE").b), WireKey.encode("größe".encode("UTF-16LE"))
  end

  def test_an_empty_key_is_none
    assert_raises(ArgumentError) { WireKey.encode("") }
  end
end
