# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache"
require "timeout"
require_relative "server_rows"

class MemcachedFaultsTest < Tiercel::TestCase
  include ServerRows

  def start_server(**options) = Servers::Memcached.new(**options).start

  # -M: an error instead of eviction when memory is full.
  def test_out_of_memory
    with_server(memory_mb: 2, args: ["-M"]) do |server|
      store = build(server.url, timeout: PATIENCE_SECONDS)
      store.write("key", "value")
      wrote = nil
      reports = capture_reports do
        5_000.times { |index| (wrote = store.write("fill#{index}", Random.bytes(2_000))) || break }
      end
      assert_nil wrote
      assert_kind_of Tiercel::Refused, reports.last.error
      assert_equal 1, reports.size
      assert_equal "value", store.read("key")
      assert_equal "computed", without_reports { store.fetch("absent", force: true) { "computed" } }
      assert_equal true, store.delete("key")
    end
  end

  # A full memcached stops listening; timing decides which of the next connections the system still accepts.
  #
  # @return [Array<IO>]
  def as_many_as_it_takes(server)
    others = []
    80.times { others << server.connect }
    others
  rescue SystemCallError
    others
  end

  def test_max_clients
    with_server(connections: 40) do |server|
      store = build(server.url)
      others = as_many_as_it_takes(server)
      assert_misses(store)
      assert_opens(build(server.url, breaker: LONG_BREAKER))
      others.each(&:close)
      assert_no_reply_for_another(store)
    ensure
      others&.each(&:close)
    end
  end
end

# One of three servers fails: its keys are misses, the other keys are not.
class MemcachedRingFaultsTest < Tiercel::TestCase
  include RemoteFailures

  # One second is enough for two servers on a busy machine, and a hung server does not take too long.
  def build(url, **options) = super(url, timeout: 1, **options)

  def with_ring(**options)
    servers = Array.new(3) { Servers::Memcached.new.start }
    url = "memcached://#{servers.map(&:address).join(",")}"
    yield build(url, **options), servers
  ensure
    servers&.each(&:stop)
  end

  NAMES = Array.new(60) { |index| "name#{index}" }.freeze

  def fill(store)
    answer { store.write_multi(NAMES.to_h { |name| [name, "value of #{name}"] }) }
    answer { store.read_multi(*NAMES).size == 60 }
  end

  %i[kill pause].each do |fault|
    define_method(:"test_one_server_#{fault}") do
      with_ring do |store, servers|
        fill(store)
        servers.first.public_send(fault)
        found = reports = nil
        wait_until("the values of the others") do # which a busy machine may delay beyond the budget
          reports = capture_reports { found = within_budget { store.read_multi(*NAMES) } }
          found.size > 10
        end
        assert_reported(reports, nil)
        assert_operator found.size, :<, 60
        assert(found.all? { |name, value| value == "value of #{name}" })
        capture_reports { found.each_key { |name| assert_equal "value of #{name}", answer { store.read(name) } } }
        lost = NAMES - found.keys
        reports = capture_reports { lost.first(10).each { |name| assert_nil store.read(name) } }
        assert_operator reports.size, :<, 10, "its own breaker opens"
        assert(reports.all? { |report| report.context[:backend] })
        servers.first.resume if fault == :pause
      end
    end
  end

  # @return [Array<Array<String>>] names on the first server, and names on the others
  def by_server(servers, **options)
    store = build("memcached://#{servers.map(&:address).join(",")}", **options)
    ring = store.backend.instance_variable_get(:@ring)
    NAMES.partition { |name| ring.node_for(name).equal?(ring.nodes.first) }
  end

  def test_the_first_calls_of_one_server_keep_nobody_from_the_others
    with_ring(breaker: LONG_BREAKER) do |store, servers|
      fill(store)
      fresh = build("memcached://#{servers.map(&:address).join(",")}", breaker: LONG_BREAKER)
      ours, others = by_server(servers)
      servers.first.kill
      reports = capture_reports { ours.each { |name| assert_nil fresh.read(name) } }
      assert_operator reports.size, :<=, 4, "its own breaker is open"
      found = others.to_h { |name| [name, "value of #{name}"] }
      assert_found(found) { others.to_h { |name| [name, fresh.read(name)] } }
    end
  end

  def test_a_failure_is_reported_rather_than_an_open_breaker
    with_ring(breaker: false) do |store, servers|
      fill(store)
      ours, others = by_server(servers)
      servers.each(&:kill)
      capture_reports { 10.times { store.read(ours.first) } }
      reports = capture_reports { assert_equal({}, store.read_multi(ours.first, others.first)) }
      assert_equal [Tiercel::Unavailable], reports.map { |report| report.error.class }
    end
  end

  def test_a_server_of_several_is_named_in_the_log_when_it_fails_and_when_it_is_back
    with_ring(timeout: PATIENCE_SECONDS) do |store, servers|
      fill(store)
      name = "memcached://#{servers.first.address}"
      lines = logged do
        servers.first.kill
        capture_reports { 3.times { NAMES.each { |key| store.read(key) } } }
        servers.first.start
        answer { store.write_multi(NAMES.to_h { |key| [key, "new"] }) }
        assert_found(NAMES.to_h { |key| [key, "new"] }) { store.read_multi(*NAMES) }
      end.grep(/does not answer|answers again/)
      assert_equal 2, lines.size, lines.join
      assert_match(/\AWARN Tiercel: #{name} does not answer \(Errno::ECONNREFUSED/, lines.first)
      assert_match(/\AWARN Tiercel: #{name} answers again; \d+ calls were skipped in \d/, lines.last)
    end
  end
end
