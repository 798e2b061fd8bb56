# frozen_string_literal: true
# suites: store*

require "test_helper"
require "tiercel/segment"
require "active_support/cache/tiercel_store"
require "tiercel/lab/servers"

# The effects of a failing tier on the other tiers.
class TiersFailuresTest < Tiercel::TestCase
  def setup
    @server = Tiercel::Lab::Servers::Redis.new.start
  end

  def teardown
    @store&.close
    @server.stop
  end

  def shared = "shared:#{dir}/segment?size=1MB&ttl=600&bus=false"

  def build(*urls, **options)
    @store = Tiercel.new(*urls, error_handler: ->(**) {}, breaker: { failures: 1, cool_down: 60 }, timeout: 5,
                           **options)
  end

  def test_a_near_tier_that_fails_is_reported_and_gone_around
    store = build(shared, @server.url)
    store.write("key", "value")
    segment = store.backend.near.backend.segment
    %i[get read near_begin near_end near_epoch near_fill near_invalidate].each do |name|
      segment.define_singleton_method(name) { |*| raise Tiercel::Unavailable.new("torn", backend: "shared:") }
    end
    reports = capture_reports do
      assert_equal "value", store.read("key")
      assert_equal true, store.write("key", "other")
      assert_equal "other", store.read("key")
      assert_equal true, store.delete("key")
      assert_nil store.read("key")
    end
    assert_operator reports.size, :>=, 1
    assert_equal ["torn"], reports.map { |report| report.error.reason }.uniq
  end

  def test_no_segment_can_be_made
    log = StringIO.new
    Tiercel::Reports.stub(:notice, ->(text) { log.puts(text) }) do
      place = Struct.new(:path).new("full")
      absent = Tiercel::Segment::Absent.new(place, Tiercel::Unavailable.new("no room")) do
        raise Tiercel::Unavailable, "no room"
      end
      near = Tiercel::Tiers::Near.new(Tiercel::Backends::Shared.new(absent), bus: true)
      tiers = Tiercel::Tiers.new(near, Tiercel::Backends::MemorySegment.build(nil, {}))
      reports = []
      near.guard = Tiercel::Guard.new(near.backend, error_handler: ->(exception:, **) { reports << exception })
      assert_equal true, tiers.set("key", "bytes")
      assert_equal ["no room"], reports.map(&:reason)
      assert_equal "bytes", tiers.get("key")
      assert_equal({ "key" => "bytes" }, tiers.get_multi(%w[key absent]))
      assert_equal true, tiers.delete("key")
    end
  end
end
