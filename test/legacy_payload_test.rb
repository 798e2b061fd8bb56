# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/message_pack"

# Payloads that Rails' own code writes.
class LegacyPayloadTest < Tiercel::TestCase
  Entry = ActiveSupport::Cache::Entry
  NOW = 1_700_000_000.25
  def test_rails_7_1_payloads_with_a_serializer_and_compressor_of_the_applications_own
    own = Class.new do
      def self.dump(value) = "own#{value}"
      def self.load(bytes) = bytes.delete_prefix("own")
      def self.deflate(bytes) = "z#{Zlib.deflate(bytes)}"
      def self.inflate(bytes) = Zlib.inflate(bytes.byteslice(1..))
    end
    payload = ActiveSupport::Cache::Coder.new(own, own).dump_compressed(Entry.new(["0" * 200]), 100)

    assert_equal ["0" * 200].to_s, coder(serializer: own, compressor: own).load(payload).value
  end

  def test_rails_6_1_payloads
    entry = Entry.new({ a: 1 }, expires_at: NOW, version: "v")

    assert_read entry, Marshal.dump(entry)
    assert_read Entry.new("0" * 5_000), Marshal.dump(Entry.new("0" * 5_000).compressed(100))
  end

  def test_message_pack
    packed = ActiveSupport::Cache::Coder.new(rails(:message_pack), Zlib).dump(Entry.new([1, :a]))
    %i[auto json as_json].each { |serializer| assert_equal [1, :a], coder(serializer:).load(packed).value }
  end

  # Both may name a class.
  def test_marshal_false_refuses_them
    [rails(:marshal_7_0), ActiveSupport::Cache::Coder.new(rails(:message_pack), Zlib)].each do |of_rails|
      payload = of_rails.dump(Entry.new([1, :a]))
      assert_raises(Tiercel::MalformedFrame) { coder(marshal: false).load(payload) }
      assert_raises(Tiercel::MalformedFrame) { coder(serializer: :message_pack, marshal: false).load(payload) }
    end
  end

  def test_objects_that_are_no_entries_are_malformed
    [Marshal.dump("text"), "\x00#{Marshal.dump("text")}".b, "\x00#{Marshal.dump([1, "soon"])}".b,
     ActiveSupport::MessagePack::CacheSerializer.dump([1])].each do |payload|
      assert_raises(Tiercel::MalformedFrame) { coder.load(payload) }
    end
  end

  def test_a_class_that_is_gone
    payload = rails(:marshal_7_0).dump(Entry.new(Object.const_set(:PassingRecord, Class.new).new))
    Object.send(:remove_const, :PassingRecord)

    assert_raises(ActiveSupport::Cache::DeserializationError) { coder.load(payload) }
  end

  private

  def coder(**options) = Tiercel::Coder.new(**options)

  def rails(name) = ActiveSupport::Cache::SerializerWithFallback[name]

  def assert_read(entry, payload)
    loaded = coder.load(payload)

    assert_equal Marshal.dump(entry.value), Marshal.dump(loaded.value)
    assert_equal [entry.expires_at, entry.version], [loaded.expires_at, loaded.version]
  end
end
