# frozen_string_literal: true

require_relative "remote_failures"
require "support/unanswering_ports"

# The rows of {ServerRows} for servers that accept requests (or not even that) and never answer.
module HungRows
  include RemoteFailures
  include UnansweringPorts

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

  # The same error class as that of a library's timeouts says nothing about the server.
  def test_a_callers_own_timeout_ends_the_caller
    with_server do |server|
      store = build(server.url, timeout: 60)
      store.write("key", "value")
      server.pause
      assert_raises(Timeout::Error) { Timeout.timeout(0.05, Timeout::Error) { store.read("key") } }
      server.resume
      assert_no_reply_for_another(store)
    end
  end

  def test_hung_ends_within_the_default_budget
    with_server do |server|
      store = build(server.url, timeout: nil)
      store.write("key", "value")
      server.pause
      capture_reports { assert_nil within_budget { store.read("key") } }
      fresh = build(server.url, timeout: nil)
      capture_reports { assert_nil within_budget { fresh.read("key") } }
      server.resume
    end
  end

  def test_a_connection_that_nobody_takes_is_late
    scheme = with_server { |server| server.url[/\A\w+/] }
    with_full_queue do |port|
      hasty = build("#{scheme}://127.0.0.1:#{port}", connect_timeout: 0.05, timeout: 30)
      capture_reports { assert_nil within_budget { hasty.read("key") } }
      store = build("#{scheme}://127.0.0.1:#{port}")
      # The system itself would try for two minutes, so a wide bound shows that the budget ends the attempts.
      reports = capture_reports do
        assert_equal "made", within_budget { store.fetch("absent") { "made" } }
      end
      assert_equal [Tiercel::TimedOut] * 2, reports.map { |report| report.error.class }
    end
  end

  # A reply in many small pieces, each of which arrives in time.
  TRICKLES = {
    "redis" => { read: ["$100000\r\n", "x"], read_multi: ["*2\r\n$100000\r\n", "x"], write: ["+", "O"] },
    "memcached" => { read: ["VA 100000 c5\r\n", "x"], read_multi: ["VA 100000 c5 O0\r\n", "x"], write: ["H", "D"] },
  }.freeze
  TRICKLING_CALLS = { read: ->(store) { store.read("key") }, read_multi: ->(store) { store.read_multi("key", "other") },
                      write: ->(store) { store.write("key", "value") } }.freeze

  def test_a_single_reply_that_trickles
    scheme = with_server { |server| server.url[/\A\w+/] }
    scheme = "redis" unless TRICKLES.key?(scheme)
    TRICKLES.fetch(scheme).each do |call, reply|
      with_trickle(*reply) do |port|
        store = build("#{scheme}://127.0.0.1:#{port}")
        reports = capture_reports { assert_includes [nil, {}], within_budget { TRICKLING_CALLS[call].call(store) } }
        assert_equal [Tiercel::TimedOut], reports.map { |report| report.error.class }, call
      end
    end
  end

  # A value that the server accepts slowly.
  def test_a_request_that_is_taken_in_drops
    scheme = with_server { |server| server.url[/\A\w+/] }
    listener = Socket.new(:INET, :STREAM).tap { |socket| socket.setsockopt(:SOCKET, :RCVBUF, 4_096) }
    listener.bind(Addrinfo.tcp("127.0.0.1", 0))
    listener.listen(1)
    taker = Thread.new { listener.accept.first.then { |client| loop { client.readpartial(20_000) && sleep(0.01) } } }
    store = build("#{scheme}://127.0.0.1:#{listener.local_address.ip_port}", compress: false)
    value = Random.bytes(20_000_000)
    reports = capture_reports { assert_nil within_budget { store.write("key", value) } }
    assert_reported(reports, "key", Tiercel::TimedOut)
  ensure
    taker&.kill
    listener&.close
  end

  # @param addresses [Array<String>] addresses of a name whose resolution takes some seconds
  def with_name(addresses, seconds: 0, &)
    original = Addrinfo.method(:getaddrinfo)
    looked_up = lambda do |host, port, *rest|
      next original.call(host, port, *rest) unless host == "cache.test"
      raise SocketError, "no address" if rest.last == Socket::AI_NUMERICHOST
      sleep seconds
      addresses.map { |address| Addrinfo.tcp(address, port) }
    end
    Addrinfo.stub(:getaddrinfo, looked_up, &)
  end

  def test_a_name_that_is_looked_up_late
    with_server do |server|
      store = build(server.url.sub("127.0.0.1", "cache.test"), timeout: 0.5)
      with_name(["127.0.0.1"], seconds: 60) do
        reports = capture_reports { assert_nil within_budget { store.read("key") } }
        assert_reported(reports, "key", Tiercel::TimedOut)
      end
      with_name(["127.0.0.1"]) { assert_equal true, answer { store.write("key", "value") } }
    end
  end

  # Each address gets a fraction of the time.
  def test_a_name_of_several_addresses
    with_server do |server|
      with_full_queue do |port|
        full = build("#{server.url[/\A\w+/]}://cache.test:#{port}", timeout: 0.5)
        with_name(["127.0.0.1"] * 8) { capture_reports { assert_nil within_budget { full.read("key") } } }
      end
      store = build(server.url.sub("127.0.0.1", "cache.test"), timeout: PATIENCE_SECONDS)
      with_name(["127.0.0.9", "127.0.0.1"]) { assert_equal true, store.write("key", "value") }
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
