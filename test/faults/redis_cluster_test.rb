# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache"
require "timeout"
require_relative "remote_failures"

class RedisClusterFaultsTest < Tiercel::TestCase
  include RemoteFailures

  NAMES = Array.new(60) { |index| "name#{index}" }.freeze
  VALUES = NAMES.to_h { |name| [name, "value of #{name}"] }.freeze

  # The time budget of a call. A hung node uses half of it, so the others have enough time even on a busy machine.
  BUDGET_SECONDS = 1.0
  # Node timeouts after which the others mark a node as failed: as early as possible, or never during a test.
  SOON_MS = 2_000
  NEVER_MS = 600_000

  def build(url, **options) = super(url, timeout: BUDGET_SECONDS, **options)

  # Three masters, and a store whose client knows them.
  def with_cluster(node_timeout_ms: NEVER_MS, **options)
    Servers::RedisCluster.run(node_timeout_ms: node_timeout_ms) do |cluster|
      store = build(cluster.url, **options)
      answer { store.write_multi(VALUES) }
      yield store, cluster
    end
  end

  def slot_of(key) = Tiercel::Backends::Redis::Cluster.slot(key)

  def node_of(cluster, key)
    cluster.nodes.find { |node| node.command("GET", key).to_s !~ /\A-MOVED/ }
  end

  def id_of(node) = node.command("CLUSTER", "MYID")

  def test_a_slot_that_moved
    with_cluster(timeout: PATIENCE_SECONDS) do |store, cluster|
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
    with_cluster(timeout: PATIENCE_SECONDS) do |store, cluster|
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

  # A cluster that serves the slots it can, and stores that know its layout.
  def with_broken_master(fault, node_timeout_ms: NEVER_MS)
    with_cluster(node_timeout_ms: node_timeout_ms, breaker: LONG_BREAKER) do |store, cluster|
      cluster.nodes.each { |node| node.command("CONFIG", "SET", "cluster-require-full-coverage", "no") }
      broken = cluster.nodes.first
      ours, others = NAMES.partition { |name| node_of(cluster, name) == broken }
      # A killed node refuses at once; a paused one costs the whole budget, after the others have answered.
      budget = fault == :pause ? 5 : PATIENCE_SECONDS
      patient = Array.new(3) { build(cluster.url, timeout: budget).tap { |other| answer { other.read("name0") } } }
      broken.public_send(fault)
      yield [store, *patient], cluster.nodes, ours, others
      fault == :pause ? broken.resume : broken.start
      answer(within: 40) { store.write_multi(VALUES) }
      assert_found(VALUES) { store.read_multi(*NAMES) }
      assert_no_reply_for_another(store)
    end
  end

  %i[kill pause].each do |fault|
    define_method(:"test_one_master_#{fault}") do
      with_broken_master(fault) do |(store, *more_stores), (broken, *peers), ours, others|
        # A store that asks the broken node first for the layout has time left to ask another one.
        hosts = [broken, *peers].map { |node| "127.0.0.1:#{node.port}" }.join(",")
        fresh = build("redis+cluster://#{hosts}", timeout: 5)
        assert_equal VALUES.slice(*others), without_reports { fresh.read_multi(*others) }
        assert_the_others_serve(more_stores, broken, ours, others)
        reports = capture_reports { assert_nil within_budget { store.read(ours.first) } }
        assert_reported(reports, ours.first)
        capture_reports { assert_nil within_budget { store.write(ours.first, "new") } }
        capture_reports { assert_equal "computed", store.fetch(ours.first) { "computed" } }
        assert_equal "value of #{others.first}", answer { store.read(others.first) }
      end
    end
  end

  # Once the other masters have noticed the failure, the layout has no node for the lost slots.
  def test_a_master_that_the_cluster_has_given_up
    with_broken_master(:kill, node_timeout_ms: SOON_MS) do |(store), (_, peer, *), ours, others|
      found = VALUES.slice(*others)
      wait_until("the peers' verdict", within: 40) { peer.command("CLUSTER", "NODES").match?(/master,fail\s/) }
      5.times { assert_found(found) { within_budget { store.read_multi(*NAMES) } } }
      capture_reports { assert_nil within_budget { store.read(ours.first) } }
      assert_found(found) { store.read_multi(*others) }
    end
  end

  # The store's first layout already has no node for the lost slots.
  def test_a_store_that_is_built_when_the_cluster_has_given_a_master_up
    with_broken_master(:kill, node_timeout_ms: SOON_MS) do |_, (_, peer, *), ours, others|
      found = VALUES.slice(*others)
      wait_until("the peers' verdict", within: 40) { peer.command("CLUSTER", "NODES").match?(/master,fail\s/) }
      store = build("redis+cluster://127.0.0.1:#{peer.port}", breaker: LONG_BREAKER, timeout: PATIENCE_SECONDS)
      reports = capture_reports { assert_equal found, store.read_multi(*NAMES) }
      assert_reported(reports, nil, Tiercel::Refused)
      assert_includes reports.first.error.message, "#{ours.size} of #{NAMES.size} keys have no answer: no node of "
      capture_reports do
        assert_equal false, store.write_multi(VALUES)
        assert_equal({}, store.read_multi(*ours))
        5.times { assert_nil within_budget { store.read(ours.first) } }
      end
      assert_equal found, store.read_multi(*others), "the breaker of all masters is closed"
      capture_reports { assert_equal others.size, store.delete_multi(NAMES) }
    end
  end

  # Operations on many keys: the other masters' part succeeds, and one report names the failing node.
  def assert_the_others_serve(stores, broken, ours, others)
    found = VALUES.slice(*others)
    unanswered = "#{ours.size} of #{NAMES.size} keys have no answer: 127.0.0.1:#{broken.port} ("
    [[found, ->(store) { store.read_multi(*NAMES) }],
     [false, ->(store) { store.write_multi(VALUES) }],
     [others.size, ->(store) { store.delete_multi(NAMES) }]].zip(stores) do |(value, call), store|
      reports = capture_reports { assert_equal value, within_budget { call.call(store) } }
      assert_reported(reports, nil)
      assert_includes reports.first.error.message, unanswered
    end
    stores.each(&:close) # the list of the last one would delete the next value
    assert_equal true, answer { stores.first.write(others.first, found[others.first]) }
  end

  def test_all_masters_killed
    with_cluster do |store, cluster|
      cluster.kill
      total = 0
      MISSES.each do |name, (call, expected)|
        value = :nothing
        reports = capture_reports { value = within_budget { call.call(store) } }
        expected.nil? ? assert_nil(value, name) : assert_equal(expected, value, name)
        assert_operator reports.size, :<=, 1, name
        total += reports.size
      end
      assert_operator total, :>=, 1, "until the breakers of the masters are open"
    end
  end
end
