# frozen_string_literal: true
# suites: store

require "test_helper"
require "minitest/mock"
require "socket"

# A server refuses one of several requests in a trip and answers the others a little later. No other caller receives
# these responses.
class MemcachedRefusalsTest < Tiercel::TestCase
  REFUSAL = "SERVER_ERROR out of memory storing object\r\n"
  PATIENCE = { timeout: 20 }.freeze

  # Sends the given response to the first trip, in two parts; later trips get the responses of an empty server.
  def with_server(refusal, rest)
    listener = TCPServer.new("127.0.0.1", 0)
    first, sent = true, Queue.new
    server = Thread.new do
      loop do
        Thread.new(listener.accept) do |client|
          if first
            first = false
            client.readpartial(1 << 20)
            client.write(refusal)
            sleep 0.05 # two packets
            client.write(rest)
            sent << true
          end
          loop { client.readpartial(1 << 20) && client.write("EN\r\n") }
        rescue SystemCallError, IOError
          client.close
        end
      end
    end
    backend = Tiercel::Backends::Memcached.new(["127.0.0.1:#{listener.addr[1]}"], **PATIENCE)
    yield backend, sent
  ensure
    server&.kill
    listener&.close
  end

  TOKEN = Tiercel::Backends::Memcached::Token.new(5, 1_000_000)
  TRIPS = {
    compare_exchange: ["EN\r\n", ->(backend) { backend.compare_exchange("key", "mine", 60) }],
    compare_exchange_multi: ["EN\r\nHD\r\nVA 4 c5 t-1\r\nmine\r\n",
                   ->(backend) { backend.compare_exchange_multi({ "a" => "mine", "b" => "mine" }, 60) }],
    set_multi: ["HD\r\n", ->(backend) { backend.set_multi({ "a" => "1", "b" => "2" }) }],
    compare_and_set_multi: ["HD\r\n", lambda do |backend|
      backend.compare_and_set_multi({ "a" => ["1", TOKEN], "b" => ["2", TOKEN] })
    end],
    get_multi: ["EN\r\n", ->(backend) { backend.get_multi(%w[a b]) }],
    add_or_get: ["HD\r\n", ->(backend) { backend.add_or_get("key", "mine") }],
  }.freeze

  TRIPS.each do |name, (rest, call)|
    define_method(:"test_#{name}") do
      with_server(REFUSAL, rest) do |backend, sent|
        error = assert_raises(Tiercel::BackendError) { call.call(backend) }
        assert_kind_of Tiercel::Refused, error
        sent.pop
        assert_nil backend.get("other")
      end
    end
  end

  def test_compare_exchange_returns_an_existing_entry
    with_server(REFUSAL, "VA 4 c5 t-1\r\nthey\r\n") do |backend, sent|
      bytes, token, left = backend.compare_exchange("key", "mine", 60)
      assert_equal ["they", 5, nil], [bytes, token.cas, left]
      sent.pop
      assert_nil backend.get("other")
    end
  end

  def test_replies_without_what_was_asked_for
    with_server("", "VA 4\r\nthey\r\n") do |backend|
      assert_raises(Tiercel::Unavailable) { backend.get_with_token("key") }
    end
    with_server("", "VA 1 c1\r\n5\r\n" * 2) do |backend|
      assert_raises(Tiercel::BackendError) { backend.increment("n", -1) }
    end
    with_server("", "VA 4\r\nthey\r\n" * 3) do |backend|
      assert_raises(Tiercel::Unavailable) { backend.get_multi(%w[a b]) }
    end
  end

  # 0 would mean no expiry.
  def test_a_counter_in_its_last_second_keeps_an_end
    with_server("", "VA 1 c5 t0\r\n5\r\n") do |backend|
      setting = ->(_key, _count, ttl, *) { throw :ttl, ttl }
      ttl = catch(:ttl) { backend.class::Connection.stub(:set_request, setting) { backend.increment("n", -1) } }
      assert_equal 1, ttl
    end
  end

  # An error's text may be any bytes. Joined with a key that is not ASCII, they would raise.
  def test_a_refusal_that_is_no_text
    with_server("SERVER_ERROR b\xFF\nd\r\n".b, "") do |backend|
      error = assert_raises(Tiercel::Refused) { backend.get("é") }
      assert_match(/SERVER_ERROR b\uFFFD d - key \*/, error.message)
    end
  end

  # A full node of a ring that is up again after an outage: its breaker closes, although every write is refused.
  def test_a_refusal_closes_the_breaker_of_its_node
    connection = Object.new
    def connection.use(*, **) = raise(Tiercel::Backends::Memcached::Connection::ServerError, "out of memory")
    def connection.clean? = true
    breaker = Tiercel::Breaker.new(failures: 1)
    node = Tiercel::Backends::Remote::Node.new("memcached://127.0.0.1:1", timeout: 5.0,
                                               pool: { size: 1, timeout: 1 }, breaker:) { connection }
    breaker.failed
    breaker.stub(:allow?, true) { assert_raises(Tiercel::Refused) { node.call("key") { flunk } } }
    refute breaker.open?
  end
end
