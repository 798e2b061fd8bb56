# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache"
require "redis-cluster-client"
require "timeout"
require_relative "remote_failures"

class RedisClusterFaultsTest < Tiercel::TestCase
  include RemoteFailures

  NAMES = Array.new(60) { |index| "name#{index}" }.freeze

  def build(url, **options) = super(url, timeout: 0.5, **options)

  # Three masters, and a store whose client knows them.
  def with_cluster
    Servers::RedisCluster.run do |cluster|
      store = build(cluster.url)
      wait_until("the cluster's layout") { store.write_multi(NAMES.to_h { |name| [name, "value of #{name}"] }) }
      yield store, cluster
    end
  end

  def slot_of(key) = RedisClient::Cluster::KeySlotConverter.convert(key)

  def node_of(cluster, key)
    cluster.nodes.find { |node| node.command("GET", key).to_s !~ /\A-MOVED/ }
  end

  def id_of(node) = node.command("CLUSTER", "MYID")

  def test_a_slot_that_moved
    with_cluster do |store, cluster|
      key = "moving"
      from = node_of(cluster, key)
      to = (cluster.nodes - [from]).first
      [to, from].each { |node| assert_equal "OK", node.command("CLUSTER", "SETSLOT", slot_of(key), "NODE", id_of(to)) }
      reports = capture_reports do
        assert_equal true, store.write(key, "value")
        assert_equal "value", store.read(key)
        assert_equal({ key => "value", "name1" => "value of name1" }, store.read_multi(key, "name1"))
        assert_equal 1, store.increment("{#{key}}counter")
        assert_equal 2, store.delete_multi([key, "{#{key}}counter"])
      end
      assert_empty reports
      refute_equal from, node_of(cluster, key)
    end
  end

  def test_a_slot_on_its_way
    with_cluster do |store, cluster|
      key = "asking"
      from = node_of(cluster, key)
      to = (cluster.nodes - [from]).first
      to.command("CLUSTER", "SETSLOT", slot_of(key), "IMPORTING", id_of(from))
      from.command("CLUSTER", "SETSLOT", slot_of(key), "MIGRATING", id_of(to))
      reports = capture_reports do
        assert_equal true, store.write(key, "value")
        assert_equal "value", store.read(key)
        assert_equal true, store.delete(key)
      end
      assert_empty reports
    end
  end

  %i[kill pause].each do |fault|
    define_method(:"test_one_master_#{fault}") do
      with_cluster do |store, cluster|
        broken = cluster.nodes.first
        ours, others = NAMES.partition { |name| node_of(cluster, name) == broken }
        broken.public_send(fault)
        reports = capture_reports { assert_nil within_budget(budget: 0.5) { store.read(ours.first) } }
        assert_reported(reports, ours.first)
        capture_reports { assert_nil within_budget(budget: 0.5) { store.write(ours.first, "new") } }
        reports = capture_reports do
          within_budget(budget: 0.5) do
            found = store.read_multi(*NAMES)
            assert(found.all? { |name, value| value == "value of #{name}" })
          end
        end
        assert_equal 1, reports.size
        capture_reports { assert_equal "computed", store.fetch(ours.first) { "computed" } }
        capture_reports { assert_includes [nil, "value of #{others.first}"], store.read(others.first) }
        broken.resume if fault == :pause
      end
    end
  end

  def test_all_masters_killed
    with_cluster do |store, cluster|
      cluster.kill
      MISSES.each do |name, (call, expected)|
        value = :nothing
        reports = capture_reports { value = within_budget(budget: 1) { call.call(store) } }
        expected.nil? ? assert_nil(value, name) : assert_equal(expected, value, name)
        assert_equal 1, reports.size, name
      end
    end
  end

  def test_a_cluster_that_is_absent_at_start
    place = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    store = build("redis+cluster://127.0.0.1:#{place}")
    reports = capture_reports { assert_nil within_budget(budget: 1) { store.read("key") } }
    assert_reported(reports, "key")
  end

  def test_no_reply_reaches_another_caller
    with_cluster do |store, _|
      20.times do |index|
        thread = Thread.new { store.read_multi(*NAMES) }
        sleep 0.001 * rand
        thread.kill.join
        name = NAMES[index]
        assert_includes [nil, "value of #{name}"], store.read(name)
      end
      assert_no_reply_for_another(store)
    end
  end

  def test_a_fork
    with_cluster do |store, _|
      answers = fork_and_wait(2) { NAMES.first(10).map { |name| store.read(name) }.compact.size }
      assert_equal [10, 10], answers
      assert_equal "value of name3", store.read("name3")
    end
  end
end
