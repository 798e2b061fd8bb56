# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/message_pack"

# Migration between Rails' stores and this one on the same server, in both directions: Rails treats our frames as
# misses, and we read Rails' entries.
class StoreRollbackTest < Tiercel::TestCase
  # Rails' conversion of entries to bytes and back, over a Hash instead of a server.
  class BytesStore < ActiveSupport::Cache::Store
    attr_reader :bytes

    def initialize(options = nil)
      super
      @bytes = {}
    end

    private

    def read_entry(key, **) = deserialize_entry(@bytes[key])

    def write_entry(key, entry, **options)
      @bytes[key] = serialize_entry(entry, **options)
      true
    end

    def delete_entry(key, **) = !@bytes.delete(key).nil?
  end

  VALUES = [nil, true, false, 7, 1.5, "", "text", "\u00fcml\u00e4ut", "bytes\xFF".b, "ascii".encode("US-ASCII"),
            :symbol, [1, [nil]], { "a" => 1, b: [2.0] }, "compressible" * 500, ["compressible" * 500], 1..3,
            Time.at(1_700_000_000)].freeze

  # Cache formats and options of Rails' stores.
  RAILS = [[7.0, {}], [7.1, {}], [7.0, { serializer: :marshal_7_1 }],
           [7.1, { serializer: :message_pack }], [7.1, { compress: false }], [7.1, { compress_threshold: 1 }],
           [7.0, { compress_threshold: 1 }], [7.1, { serializer: :message_pack, compress_threshold: 1 }]].freeze

  # --- back to Rails ---

  def test_rails_reads_our_frames_as_misses
    our_frames.each do |label, frame|
      RAILS.each do |format, options|
        rails = rails_store(format, **options)
        rails.bytes["name"] = frame
        message = "#{label} by Rails #{format} #{options}"
        assert_nil rails.read("name"), message
        assert_equal false, rails.exist?("name"), message
        assert_equal({}, rails.read_multi("name"), message)
        assert_equal("made", rails.fetch("name") { "made" }, message)
        assert_equal "made", rails.read("name"), message
      end
    end
  end

  # --- over from Rails ---

  def test_we_read_what_rails_wrote
    each_payload do |value, bytes, message|
      store = store_with(bytes)
      assert_same_value value, store.read("name"), message
      assert_same_value value, store.fetch("name") { flunk "#{message}: it is there" }, message
      assert_equal true, store.exist?("name"), message
      assert_equal ["name"], store.read_multi("name").keys, message
    end
  end

  def test_versions_that_rails_wrote
    RAILS.each do |format, options|
      ["v1", "\u00fc", 7].each do |version|
        bytes = payload("value", format, options, version: version)
        store = store_with(bytes)
        assert_equal "value", store.read("name", version: version), "#{format} #{options}"
        assert_equal "value", store.read("name")
        assert_nil store.read("name", version: "another")
      end
    end
  end

  def test_a_race_condition_over_an_entry_of_rails
    store = store_with(payload("old", 7.1, {}, expires_in: 60))
    travel(61) do
      assert_equal("new", store.fetch("name", race_condition_ttl: 10) { assert_equal "old", store.read("name"); "new" })
    end
  end

  def test_a_number_that_rails_wrote_becomes_a_counter
    store = store_with(payload(5, 7.1, {}))
    assert_equal 6, store.increment("name")
    assert_equal 6, store.read_counter("name")
  end

  def test_unless_exist_over_an_entry_of_rails
    store = store_with(payload("old", 7.0, {}))
    assert_equal false, store.write("name", "new", unless_exist: true)
    assert_equal "old", store.read("name")
  end

  private

  def our_frames
    @our_frames ||= frames_of({}, VALUES).merge(
      frames_of({ serializer: :marshal, checksum: true }, VALUES),
      frames_of({ compressor: :zlib, compress_threshold: 1 }, VALUES.last(6)),
      frames_of({ version: "v1" }, ["text", [1]]),
      frames_of({ expires_in: 60 }, ["text", [1]])
    )
  end

  def frames_of(options, values)
    store = Tiercel.new("memory:", **options)
    values.each_with_index.to_h do |value, index|
      store.write("name#{index}", value)
      ["#{value.inspect[0, 40]} #{options}", store.backend.get("name#{index}")]
    end
  end

  def each_payload
    RAILS.each do |format, options|
      VALUES.each do |value|
        next if options[:serializer] == :message_pack && value.is_a?(Time) # loses its time zone, as documented
        yield value, payload(value, format, options), "#{value.inspect[0, 40]} by Rails #{format} #{options}"
      end
    end
  end

  def payload(value, format, options, **call_options)
    rails = rails_store(format, **options)
    rails.write("name", value, **call_options)
    rails.bytes.fetch("name")
  end

  def rails_store(format, **options)
    before = ActiveSupport::Cache.format_version
    ActiveSupport::Cache.format_version = format
    BytesStore.new(options)
  ensure
    ActiveSupport::Cache.format_version = before
  end

  def store_with(bytes, **options)
    Tiercel.new("memory:", **options).tap { |store| store.backend.set("name", bytes) }
  end

  def assert_same_value(expected, actual, message)
    expected.nil? ? assert_nil(actual, message) : assert_equal(expected, actual, message)
    assert_equal expected.encoding, actual.encoding, message if expected.is_a?(String)
  end
end
