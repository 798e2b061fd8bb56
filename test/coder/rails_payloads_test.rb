# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/message_pack"

# Payloads that Rails' own stores have written.
class RailsPayloadsTest < Tiercel::TestCase
  Entry = ActiveSupport::Cache::Entry

  # A serializer and compressor of an application.
  module Own
    def self.dump(value) = "own#{value}"
    def self.load(bytes) = bytes.delete_prefix("own")
    def self.deflate(bytes) = "z#{Zlib.deflate(bytes)}"
    def self.inflate(bytes) = Zlib.inflate(bytes.byteslice(1..))
  end

  def test_every_format_and_the_stores_own_options
    entries = [Entry.new({ a: 1 }, version: "v", expires_at: Time.now.to_f + 60), Entry.new("0" * 5_000)]
    %i[marshal_7_1 message_pack].product(entries, [{}, { serializer: :as_json }]) do |name, entry, options|
      of_rails = ActiveSupport::Cache::Coder.new(rails(name), Zlib)
      [of_rails.dump(entry), of_rails.dump_compressed(entry, 10)].each { |bytes| assert_read entry, bytes, **options }
    end
    entries.each do |entry|
      of_7_0 = [rails(:marshal_7_0).dump(entry), rails(:marshal_7_0).dump_compressed(entry, 10)]
      by_dalli = Marshal.dump(of_7_0.first)
      [*of_7_0, by_dalli, Marshal.dump(entry)].each { |bytes| assert_read entry, bytes }
    end
    payload = ActiveSupport::Cache::Coder.new(Own, Own).dump_compressed(Entry.new(["0" * 200]), 100)
    assert_read Entry.new(["0" * 200].to_s), payload, serializer: Own, compressor: Own
  end

  # Marshal and message_pack may name a class.
  def test_marshal_false_refuses_them
    [rails(:marshal_7_0), ActiveSupport::Cache::Coder.new(rails(:message_pack), Zlib)].each do |of_rails|
      payload = of_rails.dump(Entry.new([1, :a]))
      [{}, { serializer: :message_pack }].each { |options| assert_damaged payload, marshal: false, **options }
    end
  end

  def test_what_cannot_be_loaded_is_a_miss_with_a_report
    gone = Object.const_set(:PassingRecord, Class.new)
    payload = rails(:marshal_7_0).dump(Entry.new(gone.new))
    Object.send(:remove_const, :PassingRecord)
    whole = ActiveSupport::Cache::Coder.new(rails(:marshal_7_1), Zlib).dump_compressed(Entry.new([1] * 900), 10)
    [payload, Marshal.dump("text"), whole.byteslice(0, 9), whole.byteslice(0, 40), "\x01\x78".b,
     "\x04\x08".b].each { |bytes| assert_damaged bytes }
  end

  private

  def rails(name) = ActiveSupport::Cache::SerializerWithFallback[name]

  # Puts the bytes into the backend.
  def holding(bytes, **options)
    store = Tiercel.new("memory:", **options)
    store.backend.set("key", bytes)
    store
  end

  def assert_read(entry, bytes, **)
    store = holding(bytes, **)
    assert_equal entry.value, store.read("key", version: entry.version)
    assert_nil store.read("key", version: "another") if entry.version
    travel(61) { assert_nil store.read("key") } if entry.expires_at
  end

  def assert_damaged(bytes, **)
    store = holding(bytes, **)
    reports = capture_reports { assert_nil store.read("key"), bytes.inspect }
    refute_empty reports, bytes.inspect
  end
end
