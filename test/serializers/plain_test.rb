# frozen_string_literal: true
# suites: kernel

require "test_helper"

# Plain and other values.
class PlainTest < Tiercel::TestCase
  class Name < String; end
  class Names < Array; end
  class Options < Hash; end

  def test_plain_data_comes_back
    [nil, true, 1, -1, 2**64 - 1, -(2**63), 1.5, "text", "größe", "\xFF", "\xFF".b, "a".encode("US-ASCII"), "",
     :a, :größe, :"", [], [[]], {}, { a: 1, "b" => [2], nil => 3, [4] => 5 }, Array.new(70_000, 1),
     Array.new(9) { |i| ["a", [:b], { "c" => 1 }, "d" * i].rotate(i / 2).to_h { |key| [key, { "a" => i }] } }]
      .each do |value|
      assert_equal Marshal.dump(value), Marshal.dump(plain.load(plain.dump(value)))
    end
  end

  def test_the_bytes_are_msgpack
    assert_equal "\x93\xC0\x01\xA1a".b, plain.dump([nil, 1, "a"])
    assert_equal "\x81\xD4\x00a\xC4\x01\xFF".b, plain.dump({ a: "\xFF".b })
    assert_equal "\xD4\x01a".b, plain.dump("a".encode("US-ASCII"))
  end

  LARGE = (0..20).to_h { |i| [i, i] }.freeze
  # Values that msgpack would change.
  OTHERS = [
    2**64, -(2**63) - 1, 2**100, 1r, 1i, "é".encode("UTF-16LE"), "a".encode("ISO-8859-1"), "\xFF".b.to_sym,
    "é".encode("ISO-8859-1").to_sym, Name.new("a"), Names.new, Options.new,
    *[+"a", [], {}].map { |value| value.tap { value.instance_variable_set(:@mark, 1) } },
    *[+"a", [], {}].map { |value| value.tap { value.define_singleton_method(:own) { 1 } } },
    *[+"a", [], {}].map { |value| value.extend(Comparable) },
    *[Hash.new(1), Hash.new(false), Hash.new { 1 }, {}.compare_by_identity]
      .flat_map { |hash| [hash, hash.dup.merge!(LARGE)] },
    Hash.ruby2_keywords_hash({ a: 1 }), Hash.ruby2_keywords_hash(LARGE),
    [].tap { |array| array << array }, {}.tap { |hash| hash[:self] = hash }
  ].freeze

  def test_what_is_not_plain
    OTHERS.each { |value| assert_nil plain.dump([value]), value.inspect }
    assert plain.dump([LARGE, Hash.new(nil)])
    assert_nil plain.dump(OTHERS[-1])
  end

  def test_keys_that_are_not_equal_to_themselves_are_not_plain
    [nan, [nan], { nan => 1 }, { 1 => [nan] }].each { |key| assert_nil plain.dump([{ 1 => 2, key => 3 }]), key.inspect }
    assert plain.dump([{ [1] => nan, 2 => [nan] }, nan])
  end

  def nan = 0.0 / 0.0

  def test_shared_objects_are_not_plain
    [+"text", [], {}, [1], { a: 1 }, ["x"].freeze, ("x" * 2_000).freeze].each do |shared|
      assert_nil plain.dump([shared, shared]), shared.inspect[0, 20]
      assert_nil plain.dump([[shared], { a: shared }]), shared.inspect[0, 20]
    end
  end

  def test_deep_nesting_is_not_plain
    assert plain.dump(nest(100))
    assert_nil plain.dump(nest(101))
    assert_nil plain.dump(nest(100_000))
  end

  def test_after_something_that_was_not_plain_everything_is_as_before
    1_000.times { plain.dump(["x" * 100, Object.new]) }

    assert_equal "\x01".b, plain.dump(1)
  end

  # msgpack allows duplicate keys; our dump never writes them.
  def test_of_keys_that_occur_twice_the_last_value_stays_in_the_first_place
    [2, 9, 17, 300].each do |size|
      bytes = [0xDE, size + 2].pack("Cn") + (0...size).map { |i| [0xCD, i, i % 100].pack("CnC") }.join +
              [0xCD, 1, 0x64].pack("CnC") + [0xCD, 0, 0x65].pack("CnC")

      assert_equal [[0, 101], [1, 100]], plain.load(bytes).first(2), "#{size} pairs"
      assert_equal size, plain.load(bytes).size
    end
  end

  def test_hashes_of_every_size_with_keys_of_every_kind
    [0, 1, 8, 9, 15, 16, 17, 63, 64, 65, 66, 1_000, 70_000].each do |size|
      [->(i) { i }, ->(i) { "key #{i}" }, ->(i) { :"key_#{i}" }, ->(i) { [i] }, ->(i) { i + 0.5 }].each do |make|
        value = Array.new(size) { |i| [make.call(i), { a: i }] }.to_h
        loaded = plain.load(plain.dump(value))

        assert_equal value, loaded
        assert_equal value.keys, loaded.keys
      end
    end
  end

  private

  def plain = Tiercel::CodecExt
  def nest(depth) = depth.times.reduce(1) { |inner, index| index.even? ? [inner] : { a: inner } }
end
