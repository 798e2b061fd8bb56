# frozen_string_literal: true
# suites: store

require "test_helper"
require "timeout"
require "tiercel/backends/redis"
$LOAD_PATH.push(File.expand_path("../../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"
require "support/unanswering_ports"

class RedisDeadlineTest < Tiercel::TestCase
  include UnansweringPorts

  Deadline = Tiercel::Backends::Redis::Deadline

  # Calls of other tests may have left a deadline on this thread.
  def setup = Deadline.set(nil)
  def teardown = Deadline.set(nil)

  # hiredis counts whole microseconds and treats 0 as no limit.
  def test_less_than_a_microsecond_is_not_waited_for_without_a_limit
    Tiercel::Clock.stub(:monotonic, 100.0) do
      Deadline.set(100.0 + 1e-7)
      assert_operator Deadline.seconds_left, :>=, 1e-6
      Deadline.set(100.0)
      assert_raises(Deadline::Spent) { Deadline.seconds_left }
      Deadline.set(103.0)
      assert_in_delta 3.0, Deadline.seconds_left
      Deadline.set(nil)
      assert_nil Deadline.seconds_left
    end
  end

  def test_an_address_with_less_than_a_microsecond_is_not_tried_without_a_limit
    driver = Class.new(Deadline.driver(:hiredis)) { define_method(:_connect) { |*| throw :limit, @connect_timeout } }
    config = RedisClient.config(host: "127.0.0.1", port: 1)
    limit = Tiercel::Backends::Remote::Dial.stub(:seconds_left, 1e-7) do
      catch(:limit) { driver.new(config, connect_timeout: 1, read_timeout: 1, write_timeout: 1) }
    end
    assert_operator limit, :>=, 1e-6
  end

  # hiredis would turn the interruption into a failed connection, and the caller's code would continue.
  def test_interruptions_while_connecting_end_the_caller
    with_full_queue do |port|
      store = store_at(port, 0.5)
      assert_raises(Timeout::Error) { Timeout.timeout(0.1) { store.read("a") } }
      continued = false
      caller = Thread.new { store.read("a").tap { continued = true } }
      Thread.pass until caller.stop?
      assert_nil caller.kill.value
      refute continued
    end
  end

  # Some test suites and consoles end all other threads.
  def test_a_watch_that_was_ended_starts_again
    with_trickle("$100000\r\n", "x") do |port|
      store = store_at(port, 0.2)
      assert_nil Timeout.timeout(10) { store.read("a") }
      watches = Thread.list.select { |thread| thread.name == "tiercel deadlines" }
      refute_empty watches.each(&:kill).each(&:join)
      assert_nil Timeout.timeout(10) { store.read("a") }
    end
  end

  # redis-cluster-client gives a connection the client's timeouts each time that it leaves the pool.
  def test_the_deadline_holds_after_the_client_has_set_its_own_timeouts
    server = Tiercel::Lab::Servers::Redis.new.start
    %i[hiredis ruby].each do |driver|
      connection = connection_to(server, driver)
      within(0.3) { assert_equal "PONG", connection.call(["PING"], nil) }
      connection.read_timeout = connection.write_timeout = 30
      assert_raises(RedisClient::ReadTimeoutError) do
        Timeout.timeout(10) { within(0.3) { connection.call(%w[BLPOP nothing 20], nil) } }
      end
    ensure
      connection&.close
    end
  ensure
    server&.stop
  end

  private

  def connection_to(server, driver)
    config = RedisClient.config(host: server.host, port: server.port)
    Deadline.driver(driver).new(config, connect_timeout: 5, read_timeout: 30, write_timeout: 30)
  end

  def within(seconds)
    Deadline.set(Tiercel::Clock.monotonic + seconds)
    yield
  ensure
    Deadline.set(nil)
  end

  def store_at(port, timeout)
    Tiercel.new("redis://127.0.0.1:#{port}", timeout:, driver: :hiredis, breaker: false)
  end
end
