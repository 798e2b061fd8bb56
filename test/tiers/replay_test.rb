# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/tiers"
require "support/last_tier_away"

# A background thread replays the journal of an outage; no caller waits for it.
class TiersReplayTest < Tiercel::TestCase
  include LastTierAway

  PATIENCE_SECONDS = 30
  FRAME = Tiercel::Frame.build(Tiercel::Frame::Layout::TYPE_STRING_UTF_8, "text")

  def journal(store)
    Tiercel::Tiers::Journal.new(store.backend.near.path, @server.url.delete_suffix("/0"))
  end

  def server_has?(key) = answer("EXISTS", key) == "1"

  # Retries, because a busy machine may answer late.
  def answer(*words)
    answer = nil
    wait_until("an answer to #{words.first}", within: PATIENCE_SECONDS) { answer = @server.command(*words) }
    answer
  end

  # The process that deleted the key continues to run, but makes no more calls.
  def test_a_delete_with_no_call_after_it
    store = build(shared)
    @server.command("SET", "key", FRAME)
    away(store) { assert_equal false, store.delete("key") }
    wait_until("the key to be deleted", within: PATIENCE_SECONDS) { !server_has?("key") }
  end

  # The process that deleted the key is killed. Another process of the machine listens and makes no calls.
  def test_a_delete_of_a_process_that_was_killed
    store = build("shared:#{@dir}/segment?size=1MB")
    store.read("nothing")
    wait_until("the bus", within: PATIENCE_SECONDS) { store.backend.near.coverage.trusted? }
    @server.command("SET", "key", FRAME)
    journal(store).note(%w[key])
    wait_until("the key to be deleted", within: PATIENCE_SECONDS) { !server_has?("key") }
  end

  # The thread of another process takes over.
  def test_a_process_that_is_killed_while_it_replays
    store = build(shared)
    @server.command("MSET", *Array.new(3) { |number| ["key #{number}", FRAME] }.flatten)
    journal(store).note(Array.new(3) { |number| "key #{number}" })
    pid = fork do
      store.backend.last.define_singleton_method(:delete_frames) { |_| Process.kill(:KILL, Process.pid) && sleep }
      store.backend.replay.step
    end
    Process.wait(pid)
    assert_equal Tiercel::Tiers::Journal::BUSY_SECONDS, store.backend.replay.step
    later(Tiercel::Tiers::Journal::Ring::TERM_SECONDS + 0.1) { store.backend.replay.step }
    refute(Array.new(3) { |number| server_has?("key #{number}") }.any?)
  end

  def later(seconds, &)
    now = Tiercel::Clock.monotonic + seconds
    Tiercel::Clock.stub(:monotonic, now, &)
  end

  # A write timed out, another process deleted the key, then the write arrived: its value was read from then on.
  def test_a_write_that_arrives_late
    store = build(shared, breaker: false)
    other = build(shared, breaker: false)
    store.write("key", "before")
    late = nil
    set = ->(*arguments) { (late = arguments) && raise(Tiercel::TimedOut) }
    store.backend.last.stub(:set, set) { assert_nil store.write("key", "late") }
    other.delete("key")
    wait_until("the first delete", within: PATIENCE_SECONDS) { !server_has?("key") }
    store.backend.last.set(*late)
    assert_equal [nil, nil], [store.read("key"), other.read("key")]
    assert_equal "value", store.write("other", "value") && other.read("other")
    [store, other].each { |each| each.backend.replay.close } # their threads would wait by the real clock
    later(Tiercel::Tiers::Journal::LATE_SECONDS + 1) { store.backend.replay.step }
    refute server_has?("key")
    assert_equal [nil, nil], [store.read("key"), other.read("key")]
    store.write("key", "new")
    assert_equal "new", other.read("key")
  end

  # A late delete still deletes.
  def test_a_delete_that_arrives_late_is_replayed_once
    store = build(shared, breaker: false)
    store.backend.last.stub(:delete, ->(*) { raise Tiercel::TimedOut }) { store.delete("key") }
    replayed(store)
    refute store.backend.pending?
  end

  def populate(count)
    script = "for i = ARGV[1], ARGV[2] do redis.call('SET', 'other:' .. i, 'value') end"
    0.step(count - 1, 10_000) do |first|
      wait_until("10,000 keys more", within: PATIENCE_SECONDS) do
        @server.command("EVAL", script, 0, first, first + 9_999)
        @server.command("DBSIZE").to_i >= first + 10_000
      end
    end
  end

  # With a `clear` in the journal, the first calls scanned the server: 10 s with seven million keys.
  def test_no_call_pays_for_an_outage_of_a_large_server
    populate(long? ? 7_000_000 : 20_000)
    store = build(shared, namespace: "app")
    store.write_multi(Array.new(100) { |number| ["key #{number}", number] }.to_h)
    away(store) do
      store.clear
      store.delete_matched("views/*")
      store.delete_multi(Array.new(5_000) { |number| "key #{number}" })
    end
    longest = Array.new(300) { |number|
      began = Tiercel::Clock.monotonic
      store.fetch("key #{number % 150}") { "made" }
      store.read("other #{number}")
      Tiercel::Clock.monotonic - began
    }.max
    assert_operator longest, :<, 5 * 2 * 5 # slack of five for each call of 5 s
    refute_match(/cmdstat_scan:/, answer("INFO", "commandstats"))
    replayed(store)
    refute_match(/cmdstat_scan:/, answer("INFO", "commandstats"))
    assert_equal "made", store.read("key 100") || store.fetch("key 100") { "made" }
  end

  # One of several servers is away: its keys stay in the journal, and the others are deleted.
  def test_keys_that_are_left
    store = build(shared)
    store.backend.replay.close
    %w[a b].each { |key| @server.command("SET", key, FRAME) }
    last = store.backend.last
    all = last.method(:delete_frames)
    some = ->(keys) { all.call(keys - %w[a]).merge((keys & %w[a]).to_h { |key| [key, Tiercel::Unavailable.new] }) }
    journal(store).note(%w[a b])
    last.stub(:delete_frames, some) { assert_equal Tiercel::Tiers::Replay::PAUSE_SECONDS, store.backend.replay.step }
    assert_equal [true, false], [server_has?("a"), server_has?("b")]
    assert_equal [true, false], [journal(store).include?("a"), journal(store).include?("b")]
    store.backend.replay.wake
    replayed(store)
    refute server_has?("a")
  end
end
