# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "socket"

# Servers that send replies of the wrong type: not a Redis, or out of sync. No call raises, and connections to such a
# server are never reused.
class RedisRepliesTest < Tiercel::TestCase
  KINDS = { nothing: "*-1\r\n", none: "$-1\r\n", number: ":1\r\n", status: "+QUEUED\r\n", ok: "+OK\r\n",
            empty: "*0\r\n", short: "*1\r\n$1\r\na\r\n", numbers: "*3\r\n:1\r\n$1\r\na\r\n:-1\r\n",
            null: "_\r\n", true: "#t\r\n", no_number: ":abc\r\n", less: "$-5\r\n",
            pushed: ">2\r\n$1\r\na\r\n$1\r\nb\r\n",
            bytes: "-ERR \xFF\xFE\r\n", refused: "-OOM \xFF\e[2J\r\n", bytes_alone: "-\xFF\r\n",
            page: "HTTP/1.1 400\r\n\r\n", nested: "*1\r\n" * 2_000, word: "$2\r\nOK\r\n" }.freeze
  CALLS = { read: ->(store) { store.read("key") }, exist: ->(store) { store.exist?("key") },
            raw: ->(store) { store.read("key", raw: true) }, write: ->(store) { store.write("key", 1) },
            read_multi: ->(store) { store.read_multi("a", "b") }, delete: ->(store) { store.delete("key") },
            write_multi: ->(store) { store.write_multi({ "a" => 1, "b" => 2 }) },
            delete_multi: ->(store) { store.delete_multi(%w[a b]) }, increment: ->(store) { store.increment("count") },
            unless_exist: ->(store) { store.write("key", 1, unless_exist: true) },
            invalidate: ->(store) { store.invalidate_tags("tag") }, matched: ->(store) { store.delete_matched(/x/) },
            stats: ->(store) { store.stats } }.freeze
  FETCHES = { fetch: [7, ->(store) { store.fetch("new") { 7 } }],
              fetch_multi: [{ "a" => 7, "b" => 7 }, ->(store) { store.fetch_multi("a", "b") { 7 } }],
              tags: [7, ->(store) { store.fetch("tagged", tags: ["tag"]) { 7 } }] }.freeze

  KINDS.each do |kind, reply|
    define_method(:"test_#{kind}") do
      with_server(reply) do |url|
        store = Tiercel.new(url, timeout: 0.2, breaker: false, lease_wait: 1, lease_ttl: 1)
        reports = capture_reports do
          CALLS.each_value { |call| call.call(store) }
          assert_nil store.read("caf\u00E9")
          FETCHES.each { |name, (value, fetch)| assert_equal value, fetch.call(store), name }
        end
        assert_empty reports.reject { |report| report.error.is_a?(Tiercel::Error) }
        refute_empty reports
        assert_empty reports.map { |report| report.error.message }.grep_v(/\A[[:print:]]+\z/)
      ensure
        store&.close
      end
    end
  end

  # The search for its end costs the square of its length.
  def test_no_endless_line_is_read
    with_server("-ERR #{"a" * 200_000}\r\n") do |url|
      store = Tiercel.new(url, breaker: false, timeout: 20)
      errors = capture_reports { 2.times { assert_nil store.read("key") } }.map(&:error)
      assert_equal [Tiercel::Unavailable] * 2, errors.map(&:class)
      assert_match(/a line of more than 65536 bytes/, errors.last.message)
      assert_equal 2, @accepted
    end
  end

  # The server reads the second request of each connection and ends: it may have run it. Only `add` must not run twice.
  def test_what_may_have_been_run_is_sent_again_unless_it_must_not
    listener = TCPServer.new("127.0.0.1", 0)
    requests = Queue.new
    server = Thread.new do
      loop do
        client = listener.accept
        ["+OK\r\n", ""].each { |reply| requests << client.readpartial(1 << 16) && client.write(reply) }
        client.close
      end
    end
    url = Tiercel::BackendURL.parse("redis://127.0.0.1:#{listener.addr[1]}")
    backend = Tiercel::Backends::Redis.build(url, { timeout: 20 })
    assert_equal true, backend.set("key", "value")
    assert_raises(Tiercel::Unavailable) { backend.add("key", "value") }
    assert_equal 2, requests.size
    assert_equal true, backend.set("key", "value")
    assert_equal true, backend.set("key", "value")
    assert_equal 5, requests.size
  ensure
    server&.kill
    [backend, listener].compact.each(&:close)
  end

  def test_a_value_of_another_length_is_none
    ["$2\r\nabcd", "$2\r\nab\r\n+more\r\n"].each do |reply|
      with_server(reply) do |url|
        store = Tiercel.new(url, breaker: false, timeout: 20)
        errors = capture_reports { assert_nil store.read("key", raw: true) }.map(&:error)
        assert_equal [Tiercel::Unavailable], errors.map(&:class), reply
      end
    end
  end

  # In a child, because the limit of its memory stays.
  def test_room_for_more_replies_than_memory_holds
    with_server("*2147483647\r\n") do |url|
      answer = fork_and_wait(1) do
        Process.setrlimit(:AS, 12 << 30)
        Tiercel.new(url, breaker: false, timeout: 2).fetch("key") { 7 }
      rescue NoMemoryError => error
        error.class.name
      end
      assert_equal [7], answer
    end
  end

  # An error's text may be any bytes. Joined with a key that is not ASCII, they would raise.
  def test_errors_that_are_no_text
    ["-ERR b\xFF\nd\r\n", "-ERR \xFF not an integer or out of range\r\n", "-ERR #{"x" * 100_000}\r\n"].each do |reply|
      with_server(reply.b) { |url| assert_readable(Tiercel.new(url, breaker: false, timeout: 2)) }
    end
  end

  # A server that drips would otherwise take the time budget twice.
  def test_stats_are_one_trip
    with_two_commands_at_once do |url|
      stats = Tiercel.new(url, timeout: 20).stats
      assert_equal [7, "7.0"], stats.values_at(:entries, :version)
    end
  end

  def test_stats_without_the_right_to_call_info
    with_server("-NOPERM this user has no permissions to run the 'info' command\r\n") do |url|
      report, *others = capture_reports { Tiercel.new(url, breaker: false, timeout: 2).stats }
      assert_kind_of Tiercel::Refused, report.error
      assert_empty others
    end
  end

  private

  def assert_readable(store)
    reports = capture_reports do
      ["é", "\xFF", "a\nb"].each do |key|
        assert_nil store.read(key)
        assert_nil store.increment(key)
        assert_equal 7, store.fetch(key) { 7 }
      end
    end
    messages = reports.map { |report| report.error.message }
    refute_empty messages
    assert(messages.all? { |message| message.valid_encoding? && !message.include?("\n") && message.size < 2_000 })
  ensure
    store.close
  end

  # Answers INFO and DBSIZE as soon as both have arrived.
  def with_two_commands_at_once
    listener = TCPServer.new("127.0.0.1", 0)
    server = Thread.new do
      client = listener.accept
      received = +""
      received << client.readpartial(1 << 16) until received.include?("INFO") && received.include?("DBSIZE")
      client.write("$18\r\nredis_version:7.0\n\r\n:7\r\n")
      client.read
    end
    yield "redis://127.0.0.1:#{listener.addr[1]}/0"
  ensure
    server.kill
    listener.close
  end

  def with_server(reply)
    @accepted = 0
    listener = TCPServer.new("127.0.0.1", 0)
    threads = [Thread.new do
      loop { listener.accept.then { |client| threads << Thread.new { answer(client, reply) } } }
    end]
    yield "redis://127.0.0.1:#{listener.addr[1]}/0"
  ensure
    threads.each(&:kill)
    listener.close
  end

  def answer(client, reply)
    @accepted += 1
    loop { client.write(reply * client.readpartial(1 << 20).scan(/^\*\d+\r$/).size.clamp(1..)) }
  rescue SystemCallError, IOError
    client.close
  end
end
