# frozen_string_literal: true
# suites: store

require "test_helper"
require "redis-client"
require_relative "servers"

# `fetch`, tags, counters and claims on servers that lack or refuse commands.
class RedisAbilitiesTest < Tiercel::TestCase
  # Longer than any of these calls, and much shorter than the wait for a lease.
  SOON = 30
  LEASE_WAIT = 60

  def teardown
    @stores&.each(&:close)
  end

  # --- servers before Redis 7 ---

  def test_before_redis_7_leases_hold_among_processes
    server = cleared(RedisServers.before_seven)
    assert_one_run(server.url)
    log = commands_sent(server) { compute_all_ways(store(server.url)) }
    assert_empty log.select { |command| command.first == "SET" && command.include?("GET") }
    assert_operator log.count { |command| command.first == "PEXPIRETIME" }, :<=, 1, "it is asked for once"
  end

  def test_before_redis_7_nothing_that_was_deleted_comes_back
    url = cleared(RedisServers.before_seven).url
    reader, other = store(url), store(url)
    assert_equal "old", reader.fetch("name") { other.delete("name") && "old" || "old" }
    assert_nil reader.read("name")
    assert_equal({ "a" => 1, "b" => 1 }, reader.fetch_multi("a", "b") { other.delete("a") && 1 || 1 })
    assert_equal({ "b" => 1 }, reader.read_multi("a", "b"))
  end

  # --- without scripts ---

  def test_without_scripts_fetch_stores_and_nobody_waits
    [cleared(RedisServers.without_scripts).url, user_without_scripts].each do |url|
      reports = capture_reports do
        first, second = store(url), store(url)
        within(SOON) { assert_equal [1, 1, 1], [first, second, first].map { |one| one.fetch("name") { 1 } } }
        within(SOON) { compute_all_ways(second) }
        within(SOON) { assert_equal "inner", first.fetch("shared") { second.fetch("shared") { "inner" } } }
      end
      about_leases = reports.map { |report| report.error.message }.grep(/lease: false/)
      assert_equal 2, about_leases.size, "one for each store: #{reports.map { |report| report.error.message }}"
      assert_equal 2, reports.size
    end
  end

  def test_without_scripts_behind_a_near_tier
    needs_extension "segment"
    url = user_without_scripts
    reports = capture_reports do
      tiers = store("memory:", url)
      within(SOON) { assert_equal [1, 1], [tiers.fetch("name") { 1 }, tiers.fetch("name") { 2 }] }
      assert_equal 1, store(url).read("name")
    end
    assert_equal 1, reports.size
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
    assert_equal 1, capture_reports { compute_all_ways(one) }.size
  end

  # --- no reply ---

  def test_a_server_that_is_away_is_asked_once_for_a_lease
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    one = store("redis://127.0.0.1:#{port}/0", breaker: false)
    [-> { one.fetch("name") { 1 } }, -> { one.fetch_multi("a", "b") { 1 } }].each do |call|
      methods = capture_reports(&call).map { |report| report.context[:method] }
      assert_equal 1, methods.count { |method| method.to_s.start_with?("take_lease") }, methods.inspect
    end
  end

  # --- changes during a process' life ---

  def test_rights_that_are_withdrawn
    server = cleared(RedisServers.single)
    one = store(user_of(server, "+@scripting"))
    assert_equal 1, one.fetch("before") { 1 }
    allow(server, "-@scripting")
    capture_reports do
      within(SOON) { assert_equal [2, 2], Array.new(2) { one.fetch("name") { 2 } } }
      within(SOON) { assert_equal [3, 3], Array.new(2) { one.fetch("other") { 3 } } }
    end
    assert_equal [2, 3], [one.read("name"), one.read("other")]
  end

  def test_rights_that_are_given
    server = RedisServers.single
    backend = RedisServers.build(user_of(server, "-@scripting"))
    assert_equal [nil, false], [backend.compares?(ask: false), backend.compares?]
    allow(server, "+@scripting")
    assert_equal false, backend.compares?, "it is not asked again at once"
    travel_monotonic(61) { assert_nil backend.compares?(ask: false) }
    backend.renew
    assert_equal true, backend.compares?
  ensure
    backend&.close
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

  def commands_sent(server)
    server.command("CONFIG", "SET", "slowlog-log-slower-than", "0")
    server.command("CONFIG", "SET", "slowlog-max-len", "10000")
    server.command("SLOWLOG", "RESET")
    yield
    client = RedisClient.config(url: server.url).new_client
    client.call("SLOWLOG", "GET", "-1").map { |entry| entry[3].map(&:upcase) }
  ensure
    server.command("CONFIG", "SET", "slowlog-log-slower-than", "-1")
    client&.close
  end

  def within(seconds)
    begun = Tiercel::Clock.monotonic
    yield
    assert_operator Tiercel::Clock.monotonic - begun, :<, seconds
  end
end
