# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"
require "tiercel/entry_report"

# The report on the entry of one key.
class EntryReportTest < Tiercel::TestCase
  def setup
    @store = Tiercel.new("memory:", namespace: "shop")
  end

  def report(name) = Tiercel::EntryReport.new(@store, name).to_h

  def test_what_a_frame_says
    @store.write(["views", 1], "x" * 300_000, expires_in: 60, version: "7", tags: %w[product:1])
    entry = report(["views", 1])
    assert_equal "shop:views/1", entry[:key]
    tier = entry[:tiers].first
    assert tier[:found]
    assert_equal ["string_utf_8", "lz4", "7"], tier.values_at(:type, :compressor, :version)
    assert_in_delta 60, tier[:ttl_seconds], 5
    assert_equal ["shop:tiercel:tag:product:1"], tier[:tags]
    assert_operator tier[:bytes], :<, 300_000
  end

  def test_invalidated_tags
    @store.write("a", 1, tags: %w[kept gone])
    refute report("a")[:tiers].first.key?(:invalidated_tags)
    @store.invalidate_tags("gone")
    assert_nil @store.read("a")
    assert_equal ["shop:tiercel:tag:gone"], report("a")[:tiers].first[:invalidated_tags]
  end

  def test_raw_bytes_objects_and_what_is_not_there
    @store.increment("visits", 5)
    @store.write("time", Time.now)
    assert_equal "raw", report("visits")[:tiers].first[:type]
    assert_equal "marshal", report("time")[:tiers].first[:type]
    assert_equal [{ tier: @store.backend.to_s, found: false }], report("nothing")[:tiers]
  end

  def test_a_damaged_frame
    @store.write("name", "value")
    bytes = @store.backend.get("shop:name").dup
    bytes.setbyte(6, 99)
    @store.backend.set("shop:name", bytes)
    assert_match(/\Adamaged/, report("name")[:tiers].first[:type])
  end

  def test_each_tier
    with_tmpdir do |folder|
      @store = Tiercel.new("shared:#{folder}/near?size=4MB", "file:#{folder}/files")
      @store.write("name", "value")
      @store.read("name")
      assert_equal [true, true], report("name")[:tiers].map { |tier| tier[:found] }
    ensure
      @store.close
    end
  end
end
