# frozen_string_literal: true
# suites: store

require "test_helper"
require "contracts/backend_contract"
require_relative "servers"

class RedisClusterTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  # The contract is not about time: eight processes at once may need long to connect on a slow machine.
  def versions? = false
  def build_peer = RedisServers.build(RedisServers.cluster.url, timeout: 20)
  def build_backend = build_peer.tap(&:clear)

  # The tests over one server cover TTLs; here TTLs only have to reach the server.
  def remote_later(seconds, &)
    return super if name.start_with?("test_an_entry_that_ended")
    skip "TTLs end by the clock of each server"
  end

  def test_batches_over_many_slots
    pairs = (0...500).to_h { |index| ["key#{index}", "value #{index}"] }
    assert_equal true, backend.set_multi(pairs, 60)
    assert_equal pairs, backend.get_multi(pairs.keys)
    assert_equal 500, backend.stats[:entries]
    assert_equal pairs.keys.sort, backend.scan.to_a.uniq.sort
    assert_equal 500, backend.delete_multi(pairs.keys)
    shares = RedisServers.cluster.nodes.map { |node| node.command("DBSIZE").to_i }
    assert_equal [0, 0, 0], shares
  end

  Redis = Tiercel::Backends::Redis

  # Lets a test come between a command and its reply.
  module Watched
    singleton_class.attr_accessor :change

    def call(command, deadline) = Watched.change ? Watched.change.call(command, -> { super }) : super
    def call_all(commands, deadline) = Watched.change ? Watched.change.call(commands.flatten, -> { super }) : super
  end
  Redis::Connection.prepend(Watched)

  # @param change [#call] receives each command, and what runs it
  def with_commands(change)
    Watched.change = change
    yield
  ensure
    Watched.change = nil
  end

  # The connection breaks between the command and its reply.
  def test_what_may_have_been_run_is_not_sent_again
    cut = lambda do |command, run|
      run.call.tap { raise Redis::Connection::Lost, "cut" if command.include?("counter") && command.first != "GET" }
    end
    with_commands(cut) do
      assert_raises(Tiercel::Unavailable) { backend.add("counter", "1") }
      assert_raises(Tiercel::Unavailable) { backend.increment("counter") }
    end
    assert_equal "2", backend.get("counter")
  end

  # A few keys with the prefix are among many other keys, which must not be yielded.
  def assert_cleared_among(foreign_keys, patient)
    backend.clear
    (0...foreign_keys).each_slice(10_000) do |slice|
      backend.set_multi(slice.to_h { |index| ["foreign#{index}", "x"] })
    end
    ours = { "ours:{slot}1" => "x", "ours:{slot}2" => "x" }
    backend.set_multi(ours)
    assert_equal ours.keys.sort, patient.scan("ours:").to_a.uniq.sort
    patient.clear("ours:")
    assert_empty backend.get_multi(ours.keys)
    assert_equal foreign_keys, backend.stats[:entries]
  end

  # By the moved clock each page takes 10 s, and the budget is 15.
  def test_clear_among_many_keys_of_others_has_a_budget_for_each_page
    clock = Tiercel::Contracts::MovedMonotonicClock
    slow = ->(command, run) { run.call.tap { clock.advance(10) if command.first == "SCAN" } }
    patient = RedisServers.build(RedisServers.cluster.url, timeout: 15)
    patient.get("warm")
    travel_monotonic(0) { with_commands(slow) { assert_cleared_among(9_000, patient) } }
  end

  def test_slots
    { "123456789" => 12_739, "foo{}{bar}" => 8_363, "{user1000}.following" => 3_443, "{user1000}.followers" => 3_443,
      "foo{{bar}}zap" => 4_015, "foo{bar}{zap}" => 5_061,
      "\xFF{\xFE}" => Redis::Cluster.slot("\xFE") }.each do |key, slot|
      assert_equal slot, Redis::Cluster.slot(key), key.inspect
    end
  end

  def test_clear_reaches_every_master
    backend.set_multi((0...100).to_h { |index| ["key#{index}", "x"] })
    backend.clear
    assert_equal([0, 0, 0], RedisServers.cluster.nodes.map { |node| node.command("DBSIZE").to_i })
  end
end
