# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/all"
require "active_support/message_pack"
require "bigdecimal"

class MessagePackSerializerTest < Tiercel::TestCase
  include Tiercel::Contracts::SerializerContract

  class Names < Array; end
  Point = Struct.new(:x, :y)

  def build_serializer = :message_pack

  def survivors
    super + [:symbol, { a: 1, 2 => 3 }, 2**70, Date.new(2026, 1, 2), Time.at(0, 123_456_789, :nsec),
             BigDecimal("1.50"), 1..2, 3r, 2i, Set[1], { a: 1 }.with_indifferent_access, 5.minutes, "\xFF".b]
  end

  def test_a_safe_buffer_is_kept_or_refused
    safe = "safe".html_safe
    if ActiveSupport.version < Gem::Version.new("8.1")
      return assert_raises(Tiercel::SerializationError) { serializer.dump(safe) }
    end

    assert_predicate there_and_back(safe), :html_safe?
  end

  def test_a_safe_buffer_that_is_unsafe_becomes_a_string
    unsafe = "safe".html_safe.tap { |buffer| buffer.gsub!("s", "<") }
    refute_predicate unsafe, :html_safe?
    if ActiveSupport.version < Gem::Version.new("8.1")
      return assert_raises(Tiercel::SerializationError) { serializer.dump(unsafe) }
    end

    assert_equal [String, unsafe.to_str], [there_and_back(unsafe).class, there_and_back(unsafe)]
  end

  def test_a_cycle_is_refused
    cycle = []
    cycle << cycle

    assert_raises(Tiercel::SerializationError) { serializer.dump(cycle) }
  end

  def test_what_rails_refuses_raises_rails_error
    [Object.new, Names.new, Point.new(1, 2), StandardError.new("x"), String].each do |value|
      assert_raises(ActiveSupport::MessagePack::UnserializableObjectError) { serializer.dump(value) }
    end
  end

  # The losses that docs/serializers.md lists. These tests fail if Rails fixes one.

  def test_a_time_forgets_that_it_is_utc_and_its_zones_name
    assert_predicate Time.at(0).utc, :utc?
    refute_predicate there_and_back(Time.at(0).utc), :utc?
    assert_nil there_and_back(Time.at(0).utc).zone
  end

  def test_a_time_is_cut_off_at_nanoseconds
    assert_equal 333_333_333/1_000_000_000r, there_and_back(Time.at(1/3r)).subsec
  end

  def test_a_hash_forgets_its_default_and_identity
    assert_nil there_and_back(Hash.new(5))[:absent]
    refute_predicate there_and_back({}.compare_by_identity), :compare_by_identity?
  end

  def test_strings_become_utf_8_or_binary
    assert_equal Encoding::UTF_8, there_and_back("a".encode("US-ASCII")).encoding
    refute_equal "é".encode("UTF-16LE"), there_and_back("é".encode("UTF-16LE"))
  end

  def test_shared_references_become_copies
    shared = [1]
    first, second = there_and_back([shared, shared])

    refute_same first, second
  end

  def test_a_regexp_is_not_equal_to_what_it_was
    refute_equal(/a/i, there_and_back(/a/i))
    assert_match there_and_back(/a/i), "A"
  end

  def test_instance_variables_are_forgotten
    marked = [1]
    marked.instance_variable_set(:@mark, 1)

    assert_empty there_and_back(marked).instance_variables
  end

  def test_a_class_that_is_gone_is_an_error_not_a_cached_nil
    passing = Object.const_set(:PassingRecord, Class.new do
      def self.from_msgpack_ext(string) = new
      def to_msgpack_ext = ""
    end)
    bytes = serializer.dump(passing.new)
    Object.send(:remove_const, :PassingRecord)

    assert_raises(ActiveSupport::MessagePack::MissingClassError) { serializer.load(bytes) }
  end

  def test_bytes_that_are_cut_off_are_malformed
    bytes = serializer.dump([1, "text", 2.5])
    (2...bytes.bytesize).each do |size|
      assert_raises(Tiercel::MalformedFrame) { serializer.load(bytes.byteslice(0, size)) }
    end
  end

  private

  def there_and_back(value) = serializer.load(serializer.dump(value))
end
