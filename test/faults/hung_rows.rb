# frozen_string_literal: true

require_relative "remote_failures"

# The rows of {ServerRows} on servers that take requests, or do not even that, and do not answer.
module HungRows
  include RemoteFailures

  def test_hung
    with_server do |server|
      store = build(server.url)
      store.write("key", "value")
      server.pause
      assert_misses(store, Tiercel::Unavailable)
      server.resume
      assert_no_reply_for_another(store)
    end
  end

  def test_hung_ends_within_the_default_budget
    with_server do |server|
      store = build(server.url, timeout: nil)
      store.write("key", "value")
      server.pause
      capture_reports { assert_nil within_budget(budget: 0.25) { store.read("key") } }
      fresh = build(server.url, timeout: nil)
      capture_reports { assert_nil within_budget(budget: 0.25) { fresh.read("key") } }
      server.resume
    end
  end

  # The read and the take have used up their budgets: nothing else is tried.
  FETCHES = {
    fetch: ->(store) { store.fetch("absent") { "made" } },
    options: ->(store) { store.fetch("absent", race_condition_ttl: 5, expires_in: 60) { "made" } },
    early: ->(store) { store.fetch("absent", early_refresh: 0.1, expires_in: 60) { "made" } },
    tags: ->(store) { store.fetch("absent", tags: %w[a b]) { "made" } },
    multi: ->(store) { store.fetch_multi("absent", "too") { "made" }.values.uniq.join },
  }.freeze

  def test_a_fetch_on_a_server_that_hangs_waits_for_it_twice
    with_server do |server|
      store = build(server.url)
      answer { store.write("key", "value") }
      server.pause
      FETCHES.each do |name, fetch|
        reports = capture_reports { assert_equal "made", within_budget(2) { fetch.call(store) }, name }
        assert_operator reports.size, :<=, 2, "#{name}: #{reports.map { |report| report.context[:method] }}"
      end
      server.resume
      FETCHES.each_value { |fetch| assert_equal("made", answer { fetch.call(store) }) }
      assert_equal "made", answer { store.read("absent") }
    end
  end

  # @yieldparam port [Integer] of a listener that has no room for another connection
  def with_full_queue
    listener = Socket.new(:INET, :STREAM)
    listener.bind(Addrinfo.tcp("127.0.0.1", 0))
    listener.listen(0)
    others = Array.new(4) { Socket.new(:INET, :STREAM) }
    others.each { |other| other.connect_nonblock(listener.local_address, exception: false) }
    yield listener.local_address.ip_port
  ensure
    [listener, *others].compact.each(&:close)
  end

  def test_a_connection_that_nobody_takes_is_late
    scheme = with_server { |server| server.url[/\A\w+/] }
    with_full_queue do |port|
      store = build("#{scheme}://127.0.0.1:#{port}")
      reports = capture_reports { assert_equal "made", within_budget(2) { store.fetch("absent") { "made" } } }
      assert_equal [Tiercel::TimedOut] * 2, reports.map { |report| report.error.class }
    end
  end

  def test_hung_breaker_of_operations_on_many_keys
    with_server do |server|
      store = build(server.url, breaker: LONG_BREAKER)
      answer { store.write("key", "value") }
      server.pause
      reports = capture_reports { 3.times { assert_empty store.read_multi("key", "other") } }
      assert_equal 3, reports.size
      assert_not_asked(store)
      server.resume
    end
  end

  def test_hung_breaker
    with_server { |server| assert_breaker(server.url, -> { server.pause }, -> { server.resume }) }
  end

  def test_hung_breaker_with_more_threads_than_connections
    with_server do |server|
      store = build(server.url, pool: 2, breaker: LONG_BREAKER)
      answer { store.write("key", "value") }
      server.pause
      reports = capture_reports { Array.new(8) { Thread.new { 3.times { store.read("key") } } }.each(&:join) }
      assert_operator reports.count { |report| report.error.is_a?(Tiercel::TimedOut) }, :>=, 3
      assert_not_asked(store)
      server.resume
    end
  end
end
