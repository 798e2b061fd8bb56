# frozen_string_literal: true
# suites: store*

require "test_helper"
require "tiercel/tiers"
require "minitest/mock"
require "active_support/cache/tiercel_store"
require "tiercel/backends/memory"
$LOAD_PATH.push(File.expand_path("../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"

# A last tier of several servers, of which one is away: what it is to be told later does not keep the others waiting.
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

  # A last tier of two servers, of which one answers nothing in time.
  class Slow < Tiercel::Backend
    attr_reader :asked

    def initialize(partial)
      super()
      @partial = partial
      @asked = 0
    end

    def several_servers? = true
    def to_s = "slow:"
    def delete_multi(_keys) = raise(Tiercel::TimedOut.new("no reply").with_partial(@partial))

    def delete(_key)
      @asked += 1
      @later = (@later || 0) + 0.1
      raise Tiercel::TimedOut, "no reply"
    end

    def now = @later || 0.0
  end

  # Whoever comes first pays for it with no more than he would wait anyhow.
  def test_a_server_that_answers_nothing_is_not_asked_for_each_key
    { nil => 0, 0 => 3 }.each do |partial, asked|
      slow = Slow.new(partial)
      near = Tiercel::Tiers::Near.new(Tiercel::Backends::Memory.build(nil, {}))
      outage = Tiercel::Tiers::Outage.new(near, slow, "slow:")
      outage.note(Array.new(500) { |number| "key #{number}" })
      Tiercel::Clock.stub(:monotonic, -> { slow.now }) { assert_nil outage.settle }
      assert_equal asked, slow.asked
    end
  end

  def build(*near)
    url = "memcached://#{@servers.map { |server| server.url.delete_prefix("memcached://") }.join(",")}"
    @store = ActiveSupport::Cache::TiercelStore.new(*near, url, namespace: "n", timeout: 0.2,
                                                                 error_handler: ->(**) {}, breaker: false)
  end

  def settled = @store.instance_variable_get(:@settings).backend.instance_variable_get(:@outage)

  # The server is back at the same place, with all it had.
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
          settled.instance_variable_set(:@again_at, nil) # its pause is over
          assert_equal there, KEYS.select { |key| store.read(key) == "new" }
        end
      end
      later = Tiercel::Clock.monotonic + 60
      Tiercel::Clock.stub(:monotonic, -> { later += 0.0001 }) { store.read(gone.first) }
      assert_equal there.to_h { |key| [key, "new"] }, store.read_multi(*KEYS)
      store.close
    end
  end
end
