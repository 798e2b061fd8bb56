# frozen_string_literal: true

require "test_helper"
require "logger"
require "stringio"
require "tiercel/segment"
require "active_support/cache/tiercel_store"
require_relative "../support/memory_stub"

# Stores whose segment cannot be created when they are built.
class SegmentAbsentTest < Tiercel::TestCase
  include MemoryStub

  def test_every_call_is_a_miss_and_there_is_one_report
    with_tmpdir do |directory|
      [{}, { frozen: true }].each do |options|
        with_free(directory, 1 << 20) do
          store, said = build("#{directory}/segment", size: "16MB", **options)
          assert_match(/cannot be created: requested 16.0 MB, free 1.0 MB in #{directory}.*`size:`/, said)
          assert_match(/the creation is retried/, said)
          reports = nil
          logged = warnings_in_the_log { reports = capture_reports { 3.times { calls_of(store) } } }
          assert_empty logged, "it was said when the store was built"
          assert_equal [Tiercel::Unavailable], reports.map { |report| report.error.class }
          assert_match(/requested 16.0 MB/, reports.first.error.message)
          store.close
        end
      end
    end
  end

  def test_a_full_volume_that_has_room_later
    with_tmpdir do |volume|
      store = nil
      with_free(volume, 1 << 20) do
        store, = build("#{volume}/segment", size: "8MB")
        assert_nil store.write("key", "value")
      end
      travel_monotonic(-60) { assert_nil store.write("key", "value"), "it is not tried at each call" }
      _, said = capture_io { travel_monotonic(120) { assert_equal true, store.write("key", "value") } }
      assert_match(/was created and is used now/, said)
      assert_equal "value", store.read("key")
      assert_equal [["value", 1]], fork_and_wait(1) { [store.read("key"), store.increment("counter")] }
      assert_equal 1, store.read_counter("counter")
      assert_equal 2, store.stats[:entries]
      peer = Tiercel.new("shared:#{volume}/segment")
      assert_equal "value", peer.read("key")
      [store, peer].each(&:close)
    end
  end

  def test_attempts_are_five_seconds_apart
    attempts = []
    absent = Tiercel::Segment::Absent.new("shared:app", Tiercel::Unavailable.new("no room")) do
      attempts << Tiercel::Clock.monotonic
      raise Tiercel::Unavailable, "no room"
    end
    began = Tiercel::Clock.monotonic
    60.times do |second|
      Tiercel::Clock.stub(:monotonic, began + second) { assert_raises(Tiercel::Error) { absent.get("key") } }
    end
    assert_equal [5], attempts.each_cons(2).map { |one, other| (other - one).round }.uniq
    assert_operator attempts.size, :>=, 9
  end

  def test_what_is_wrong_in_itself_raises
    with_tmpdir do |directory|
      { "#{directory}/t" => { sise: "1MB" }, directory => {}, "#{directory}/missing/s" => {},
        "#{directory}/u" => { size: "1MB", shards: 64 } }.each do |path, options|
        assert_raises(Tiercel::ConfigurationError, path) { build(path, **options) }
      end
    end
  end

  private

  # @return [Array(ActiveSupport::Cache::TiercelStore, String)] the store and its log
  def build(path, **)
    store = nil
    _, said = capture_io { store = Tiercel.new("shared:#{path}", **) }
    [store, said]
  end

  def warnings_in_the_log
    log = StringIO.new
    before = ActiveSupport::Cache::Store.logger
    ActiveSupport::Cache::Store.logger = Logger.new(log, level: :warn)
    yield
    log.string
  ensure
    ActiveSupport::Cache::Store.logger = before
  end

  def calls_of(store)
    assert_nil store.read("key")
    assert_nil store.write("key", "value")
    assert_nil store.write("key", { a: 1 })
    assert_equal({}, store.read_multi("key", "other"))
    assert_equal({ "key" => "KEY" }, store.fetch_multi("key", &:upcase))
    assert_equal 1, store.fetch("key") { 1 }
    assert_nil store.increment("counter")
    assert_equal false, store.delete("key")
    assert_equal 0, store.delete_multi(%w[key other])
    assert_equal false, store.exist?("key")
    assert_nil store.clear
    assert_nil store.stats
  end
end
