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

    skip "Rails' own serializer returns it as safe" if ActiveSupport.version.segments.first(2) == [8, 2]
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
