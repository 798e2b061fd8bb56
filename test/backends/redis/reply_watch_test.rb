# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel"
require "tiercel/backends/redis"
require "tiercel/backends/redis/reply_watch"
require_relative "servers"

# The thread that ends late calls of hiredis.
class RedisReplyWatchTest < Tiercel::TestCase
  WATCH = Tiercel::Backends::Redis::ReplyWatch

  def setup
    super
    @before = %i[@bell @thread @start].to_h { |name| [name, WATCH.instance_variable_get(name)] }
    set("@bell": Thread::Queue.new, "@thread": nil, "@start": @lock = Mutex.new)
  end

  def teardown
    set(@before)
    @thread&.kill&.join
    super
  end

  def set(variables) = variables.each { |name, value| WATCH.instance_variable_set(name, value) }

  # Two callers notice together that there is no thread.
  def test_a_second_caller_starts_no_second_thread
    @thread = thread = Thread.new { sleep }
    test = self
    @lock.define_singleton_method(:try_lock) { super().tap { test.set("@thread": thread) } }
    WATCH.send(:wake)
    assert_same thread, WATCH.instance_variable_get(:@thread)
    refute_predicate @lock, :locked?
  end
end

# Connections that nobody uses any more.
class RedisReplyWatchConnectionsTest < Tiercel::TestCase
  WATCH = Tiercel::Backends::Redis::ReplyWatch
  DRIVER = Tiercel::Backends::Redis::Deadline.driver(:hiredis)

  # Calls of other tests may have left a deadline on this thread.
  def setup = Tiercel::Backends::Redis::Deadline.set(nil)

  # An interrupted call leaves a connection that nobody closes until it is collected.
  def test_the_thread_keeps_none_while_there_are_calls
    before = connections
    5.times do
      10.times { connect }
      WATCH.wake
      4.times { (WATCH.called = true) && sleep(0.03) }
    end
    assert_operator connections - before, :<, 20
  end

  private

  # Those of other tests may be among them.
  def connections
    GC.start
    ObjectSpace.each_object(DRIVER).count
  end

  def connect
    config = RedisClient.config(host: RedisServers.single.host, port: RedisServers.single.port)
    DRIVER.new(config, connect_timeout: 5, read_timeout: 5, write_timeout: 5).close
    nil
  end
end
