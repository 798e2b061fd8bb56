# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/lab/servers"

# More threads than connections; each thread uses all servers of a ring.
class CrowdedRingTest < Tiercel::TestCase
  THREADS = 25
  CALLS = 40
  KEYS = Array.new(60) { |index| "key#{index}" }.freeze

  def setup
    @servers = Array.new(3) { Tiercel::Lab::Servers::Memcached.new.start }
    url = Tiercel::BackendURL.parse("memcached://#{@servers.map(&:address).join(",")}")
    @backend = Tiercel::Backends::Memcached.build(url, { timeout: 60, pool: { size: 5, timeout: 60 } })
  end

  def teardown
    @backend.close
    @servers.each(&:stop)
  end

  def in_threads(count = THREADS)
    Array.new(count) { |index| Thread.new { yield index } }.map(&:value)
  end

  # Each call uses the servers in a different order. A deadlock would last until the timeout and cause misses.
  def test_no_call_waits_for_another_that_waits_for_it
    @backend.set_multi(KEYS.to_h { |key| [key, "value of #{key}"] })
    incomplete = in_threads do |index|
      random = Random.new(index)
      Array.new(CALLS) do |call|
        keys = KEYS.shuffle(random: random)
        case call % 5
        when 0 then @backend.set_multi(keys.first(20).to_h { |key| [key, "value of #{key}"] }) == true ? 20 : 0
        else @backend.get_multi(keys.first(20)).size
        end
      rescue Tiercel::BackendError => error
        error
      end.reject { |found| found == 20 }
    end.flatten
    assert_empty incomplete
  end

  # Threads that wait for the second server do not hold connections to the first one.
  def test_a_busy_server_holds_no_connections_of_the_others
    ring = @backend.instance_variable_get(:@ring)
    first = ring.node_for(KEYS.first)
    second = ring.node_for(KEYS.find { |key| ring.node_for(key) != first })
    held = Thread::Queue.new
    leave = Thread::Queue.new
    holders = Array.new(5) { Thread.new { second.call(nil) { (held << true) && leave.pop } } }
    5.times { held.pop }
    callers = Array.new(5) { Thread.new { @backend.get_multi(KEYS) } }
    wait_until("the calls to wait") { callers.all? { |caller| caller.status == "sleep" } }
    assert_equal 5, in_threads(5) { first.call(nil, deadline: now + 60) { 1 } }.sum
    5.times { leave << true }
    holders.each(&:join)
    assert_equal [{}] * 5, callers.map(&:value)
  end

  def now = Tiercel::Clock.monotonic
end
