# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/tiers"
require "minitest/mock"
require "active_support/cache/tiercel_store"
require "tiercel/backends/memory"
$LOAD_PATH.push(File.expand_path("../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"

# One of several servers in the last tier is unreachable: its pending deletes must not delay the other servers.
class TiersOutageOfOneServerTest < Tiercel::TestCase
  KEYS = Array.new(24) { |number| "key #{number}" }.freeze

  def setup
    @dir = Dir.mktmpdir("tiercel-outage-")
    @servers = Array.new(2) { Tiercel::Lab::Servers::Memcached.new.start }
  end

  def teardown
    @store&.close
    @servers.each(&:stop)
    FileUtils.rm_rf(@dir)
  end

  def build(*near)
    url = "memcached://#{@servers.map { |server| server.url.delete_prefix("memcached://") }.join(",")}"
    @store = ActiveSupport::Cache::TiercelStore.new(*near, url, namespace: "n", timeout: 0.2,
                                                                 error_handler: ->(**) {}, breaker: false)
  end

  # Late requests may still reach the servers for some seconds.
  def settle
    30_000.times do
      return unless @store.backend.pending?
      now = Tiercel::Clock.monotonic + Tiercel::Tiers::Journal::LATE_SECONDS
      Tiercel::Clock.stub(:monotonic, -> { now }) { @store.backend.replay.step }
      sleep 0.001
    end
    flunk "the journal is not settled"
  end

  # The server returns at the same address with all its entries.
  def away(server)
    server.pause
    yield
  ensure
    server.resume
  end

  def test_the_others_go_on_and_it_is_told_when_it_is_back
    [["shared:#{@dir}/segment?size=1MB"], ["memory:"]].each do |near|
      store = build(*near)
      KEYS.each { |key| store.write(key, "old") }
      there = gone = nil
      away(@servers.last) do
        KEYS.each { |key| store.delete(key) }
        there = KEYS.select { |key| store.write(key, "new") }
        gone = KEYS - there
        assert_operator there.size, :>, 2
        assert_operator gone.size, :>, 2
        2.times do
          store.backend.replay.step
          refute_includes KEYS.map { |key| store.read(key) }, "old"
        end
      end
      settle
      assert_equal "", [store.read_multi(*KEYS).values.uniq, KEYS.map { |key| store.read(key) }.uniq].join.delete("new")
      assert_equal true, store.write(gone.first, "again")
      assert_equal "again", store.read(gone.first)
      store.close
    end
  end
end
