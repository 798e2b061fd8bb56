# frozen_string_literal: true
# suites: kernel, store

require "test_helper"

class PoolTest < Tiercel::TestCase
  Pool = Tiercel::Backends::Remote::Pool

  class FakeConnection
    attr_accessor :busy
    attr_writer :often_interrupted
    attr_reader :closed

    # Other threads, and exceptions that they raise, may interrupt at any point.
    def clean?
      Thread.pass if @often_interrupted
      !busy
    end

    def close
      @busy = false
      @closed = true
    end
  end

  def pool(size: 2, timeout: 60) = @pool ||= Pool.new(size: size, timeout: timeout) { FakeConnection.new }

  def soon(seconds = 60) = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds

  def test_what_comes_back_busy_is_closed
    one = pool.with(soon) { |connection| connection.tap { connection.busy = true } }
    assert_equal true, one.closed
    assert_raises(RuntimeError) { pool.with(soon) { |connection| (connection.busy = true) && raise("cut") } }
    assert_equal 1, pool.count
  end

  def test_a_working_connection_is_lent_before_a_closed_one
    working = nil
    pool.with(soon) { |one| pool.with(soon) { |other| working = other } && one.busy = true }
    assert_same working, pool.with(soon) { |connection| connection }
  end

  def test_none_of_before_is_used_again
    idle = nil
    used = pool.with(soon) do |one|
      idle = pool.with(soon) { |two| two }
      pool.renew
      assert_equal [nil, true], [one.closed, idle.closed]
      one
    end
    assert_equal true, used.closed
    assert_equal 1, pool.count
    assert_same used, pool.with(soon) { |connection| connection }
  end

  def test_none_in_time
    pool(size: 1, timeout: 0.01).with(soon) do
      error = assert_raises(Pool::Exhausted) { pool.with(soon) { flunk } }
      assert_match(/none of 1/, error.message)
    end
    assert_kind_of FakeConnection, pool.with(soon) { |connection| connection }
  end

  # @return [Array<Thread>] threads that started to wait in this order
  def waiters(count)
    Array.new(count) do |index|
      Thread.new { pool.with(soon) { yield index } }.tap do |thread|
        wait_until("the wait") { thread.status == "sleep" }
      end
    end
  end

  def test_first_come_first_served
    served = []
    newcomers = []
    threads = pool(size: 1).with(soon) { waiters(5) { |index| (served << index) && Thread.pass } }
    20.times { newcomers << pool.with(soon) { served.size } }
    threads.each(&:join)
    assert_equal [0, 1, 2, 3, 4], served
    assert_equal [5] * 20, newcomers, "who comes later waits for those who came before"
  end

  # If a wait ends just when it is given a connection, the next waiting thread gets it.
  def test_waiters_that_are_interrupted_keep_nothing
    100.times do
      threads = pool(size: 1).with(soon) { waiters(3) { nil } }
      [threads[0].tap(&:kill), *threads[1..]].each(&:join)
      assert_equal 1, pool.with(soon) { pool.count }
    end
  end

  # Raised by another thread.
  class Cut < StandardError; end

  # Interrupts at every point between checkout and return.
  def test_interrupts_lose_no_connection_and_pass_none_on_busy
    pool(size: 3)
    met_busy = cuts = 0
    stop = false
    threads = Thread.handle_interrupt(Cut => :never) do
      Array.new(6) do
        Thread.new do
          cuts += 1 if cut? { pool.with(soon) { |connection| use(connection) { met_busy += 1 } } } until stop
        end
      end
    end
    deadline = soon(120)
    tries = 0
    while (tries += 1) <= 10_000 || (cuts <= 100 && soon(0) < deadline)
      rand < 0.7 ? threads.sample.raise(Cut) : Thread.pass
    end
    stop = true
    threads.each { |thread| cut? { assert thread.join(60), "a thread hangs" } }
    assert_operator cuts, :>, 100
    assert_equal 0, met_busy
    assert_equal [3, 3], three_at_once
  end

  def use(connection)
    yield if connection.busy
    connection.often_interrupted = connection.busy = true
    Thread.pass if rand < 0.3
    connection.busy = false
  end

  # @return [Boolean] whether the block was interrupted
  def cut?(&block)
    Thread.handle_interrupt(Cut => :immediate, &block)
    false
  rescue Cut
    true
  end

  # @return [Array(Integer, Integer)] number of connections, and how many can be checked out
  def three_at_once
    pool.with(soon) { |a| pool.with(soon) { |b| pool.with(soon) { |c| [pool.count, [a, b, c].uniq.size] } } }
  end

  def test_the_deadline_ends_a_wait_before_the_timeout
    pool(size: 1, timeout: 600).with(soon) do
      start = soon(0)
      assert_raises(Pool::Exhausted) { pool.with(soon(0.02)) { flunk } }
      assert_operator soon(0) - start, :<, 60
    end
  end

  def test_without_a_limit_a_few_stay
    unlimited = Pool.new(size: nil, timeout: 1) { FakeConnection.new }
    nest = lambda do |depth|
      unlimited.with(soon) { |connection| depth.zero? ? [connection] : [connection] + nest.call(depth - 1) }
    end
    connections = nest.call(9)
    assert_equal 10, connections.uniq.size
    assert_equal Pool::UNLIMITED_IDLE, unlimited.count
    assert_equal 5, connections.count(&:closed)
  end

  def test_a_child_begins_with_none
    first = pool.with(soon) { |connection| connection }
    answers = fork_and_wait(2) do |child|
      pool.close if child == 1
      [first.closed, pool.with(soon) { |connection| connection.equal?(first) }, pool.count]
    end
    assert_equal [[nil, false, 1]] * 2, answers
    assert_same first, pool.with(soon) { |connection| connection }
  end
end
