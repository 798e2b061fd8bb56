# frozen_string_literal: true
# suites: store

require "test_helper"
require_relative "servers"

# `fetch`, tags, counters and claims on servers that refuse scripts.
class RedisWithoutScriptsTest < Tiercel::TestCase
  # Longer than any of these calls, and much shorter than the wait for a lease.
  SOON = 30
  LEASE_WAIT = 60

  def teardown
    @stores&.each(&:close)
  end

  # --- without scripts ---

  def test_fetch_stores_and_one_caller_computes
    [cleared(RedisServers.without_scripts).url, user_without_scripts].each do |url|
      assert_no_reports do
        first, second = store(url), store(url)
        within(SOON) { assert_equal [1, 1, 1], [first, second, first].map { |one| one.fetch("name") { 1 } } }
        within(SOON) { compute_all_ways(second) }
        assert_one_run(url)
      end
    end
  end

  def test_nothing_that_was_deleted_comes_back
    url = user_without_scripts
    reader, other = store(url), store(url)
    assert_equal "old", reader.fetch("name") { other.delete("name") && "old" || "old" }
    assert_nil reader.read("name")
    assert_equal({ "a" => 1, "b" => 1 }, reader.fetch_multi("a", "b") { other.delete("a") && 1 || 1 })
    assert_equal({ "b" => 1 }, reader.read_multi("a", "b"))
  end

  def test_frames_are_deleted_and_nothing_else
    backend = RedisServers.build(user_without_scripts)
    frame = Tiercel::Frame::EXPIRED
    backend.set_multi({ "frame" => frame, "raw" => "bytes" })
    assert_equal({}, backend.delete_frames(%w[frame raw nothing]))
    assert_equal "bytes", backend.get("raw")
  ensure
    backend&.close
  end

  # The connection stops watching the key of one caller's comparison before the next caller has it.
  def test_a_comparison_that_fails_watches_no_longer
    url = cleared(RedisServers.without_scripts).url
    backend, other = RedisServers.build(url, pool: { size: 1 }), RedisServers.build(url)
    backend.set("key", "value")
    assert_equal false, backend.compare_and_set("key", "new", "another")
    other.set("key", "changed")
    assert_equal 1, backend.increment("count")
  ensure
    [backend, other].each { |one| one&.close }
  end

  def test_without_scripts_counters_count_and_keep_their_end
    backend = RedisServers.build(cleared(RedisServers.without_scripts).url)
    assert_equal [3, 2], [backend.increment("count", 3, 100), backend.increment("count", -1, 900)]
    assert_operator backend.look("count").last, :<=, 100
    backend.set("text", "no number")
    assert_raises(Tiercel::NotACounter) { backend.increment("text") }
    assert_raises(Tiercel::NotACounter) { backend.increment("count", (2**63) - 1) }
    assert_equal 3, backend.increment("count")
  ensure
    backend&.close
  end

  def test_without_scripts_of_a_cluster
    RedisServers.cluster.nodes.each { |node| allow(node, "-@scripting") }
    url = RedisServers.cluster.url.sub("//", "//unscripted:secret@")
    one = store(url, namespace: "unscripted")
    assert_no_reports { compute_all_ways(one) }
  end

  # --- changes during a process' life ---

  def test_rights_that_are_withdrawn
    server = cleared(RedisServers.single)
    one = store(user_of(server, "+@scripting"))
    assert_equal 1, one.fetch("before") { 1 }
    allow(server, "-@scripting")
    assert_no_reports { within(SOON) { assert_equal [2, 2], Array.new(2) { one.fetch("name") { 2 } } } }
    assert_equal 2, one.read("name")
  end

  private

  def store(*urls, **options)
    (@stores ||= []) << Tiercel.new(*urls, timeout: 10, lease_wait: LEASE_WAIT, lease_ttl: LEASE_WAIT, **options)
    @stores.last
  end

  def cleared(server) = server.tap { |one| one.command("FLUSHALL") }

  def user_without_scripts = user_of(cleared(RedisServers.single), "-@scripting")

  # @return [String] the URL of a user without these rights
  def user_of(server, rights)
    allow(server, rights)
    server.url.sub("//", "//unscripted:secret@")
  end

  def allow(server, rights)
    assert_equal "OK", server.command("ACL", "SETUSER", "unscripted", "on", ">secret", "~*", "+@all", rights)
  end

  def compute_all_ways(store)
    name = "all#{rand(1 << 40)}"
    assert_equal [1, 1], Array.new(2) { store.fetch(name) { 1 } }
    assert_equal [{ "#{name}a" => 1, "#{name}b" => 1 }] * 2,
                 Array.new(2) { |round| store.fetch_multi("#{name}a", "#{name}b") { round + 1 } }
    assert_equal [7, 7], [store.fetch("#{name}t", tags: [name]) { 7 }, store.read("#{name}t")]
    store.invalidate_tags(name)
    assert_nil store.read("#{name}t")
    assert_equal [true, false], Array.new(2) { store.write("#{name}u", 1, unless_exist: true) ? true : false }
    assert_equal [1, 2], Array.new(2) { store.increment("#{name}c") }
  end

  # Two processes fetch; exactly one of them computes.
  def assert_one_run(url)
    runs = fork_and_wait(3) do
      own = []
      assert_equal 1, store(url).fetch("herd") { own << 1; sleep 0.3; 1 }
      own.size
    end
    assert_equal 1, runs.sum
  end

  def assert_no_reports(&)
    assert_empty capture_reports(&).map { |report| report.error.message }
  end

  def within(seconds)
    begun = Tiercel::Clock.monotonic
    yield
    assert_operator Tiercel::Clock.monotonic - begun, :<, seconds
  end
end
