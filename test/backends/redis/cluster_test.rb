# frozen_string_literal: true
# suites: store

require "test_helper"
require "contracts/backend_contract"
require_relative "servers"

class RedisClusterTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  # The contract is not about time: eight processes at once may need long to connect on a slow machine.
  def build_peer = RedisServers.build(RedisServers.cluster.url, timeout: 20)
  def build_backend = build_peer.tap(&:clear)

  # The tests over one server cover TTLs; here TTLs only have to reach the server.
  def remote_later(seconds, &)
    name == "test_an_entry_ends" ? super : skip("TTLs end by the clock of each server")
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

  # @return [Redis::Cluster] commands over drivers that the module modifies
  def commands_with(change, timeout: 2)
    redis = Tiercel::Backends::Redis
    driver = Class.new(redis::Deadline.driver(:ruby)) { prepend change }
    config = RedisClient.cluster(nodes: RedisServers.cluster.nodes.map { |node| "redis://127.0.0.1:#{node.port}" },
                                 concurrency: { model: :none }, protocol: 2, reconnect_attempts: 0,
                                 driver: redis::NodeShare.driver(driver))
    redis::Cluster.new(config, timeout: timeout, pool: { size: 2, timeout: 2 })
  end

  # Breaks the connection between the command and its reply.
  module Cut
    def call(command, timeout)
      reply = super
      raise RedisClient::ConnectionError, "cut" if command.first == "INCR"
      reply
    end
  end

  def test_what_may_have_been_run_is_not_sent_again
    reader = build_backend
    commands = commands_with(Cut)
    [[false, "once", 1], [true, "again", 2..]].each do |resend, key, counts|
      assert_raises(RedisClient::ConnectionError) { commands.call(["INCR", key], resend: resend) }
      assert_operator counts, :===, reader.get(key).to_i
    end
  ensure
    [commands, reader].each { |one| one&.close }
  end

  # Makes each page take half a second; the budget is two.
  module SlowPages
    def call(command, timeout)
      sleep 0.5 if command.first.casecmp?("SCAN")
      super
    end
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

  def test_clear_among_many_keys_of_others_has_a_budget_for_each_page
    patient = RedisServers.build(RedisServers.cluster.url)
    patient.instance_variable_set(:@commands, commands_with(SlowPages, timeout: 2))
    assert_cleared_among(9_000, patient)
  end

  def test_clear_among_600_000_keys_of_others
    skip "--long" unless long?
    assert_cleared_among(600_000, RedisServers.build(RedisServers.cluster.url, timeout: 0.25))
  end

  def test_clear_reaches_every_master
    backend.set_multi((0...100).to_h { |index| ["key#{index}", "x"] })
    backend.clear
    assert_equal([0, 0, 0], RedisServers.cluster.nodes.map { |node| node.command("DBSIZE").to_i })
  end
end
