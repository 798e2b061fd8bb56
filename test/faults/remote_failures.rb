# frozen_string_literal: true

require "logger"
require "minitest/mock"
require "stringio"
require "tiercel/lab/network"
require "tiercel/lab/servers"

# The rules for every store over a failing server (docs/failures.md).
module RemoteFailures
  Servers = Tiercel::Lab::Servers
  Proxy = Tiercel::Lab::Network::Proxy

  # Short, so that tests in which every call times out stay short too.
  BUDGET_SECONDS = 0.2
  # For tests in which every call gets a reply, which may be late on a busy machine.
  PATIENCE_SECONDS = 10
  # A breaker that stays open for the whole test.
  LONG_BREAKER = { failures: 3, cool_down: 600, max_cool_down: 600 }.freeze

  # The result of each call if the server is unreachable.
  MISSES = {
    read: [->(store) { store.read("key") }, nil],
    exist: [->(store) { store.exist?("key") }, false],
    write: [->(store) { store.write("key", "new") }, nil],
    delete: [->(store) { store.delete("key") }, false],
    read_multi: [->(store) { store.read_multi("key", "other") }, {}],
    delete_multi: [->(store) { store.delete_multi(%w[key other]) }, 0],
    increment: [->(store) { store.increment("counter") }, nil],
    decrement: [->(store) { store.decrement("counter") }, nil],
  }.freeze

  # The key in each report; the other calls report "key".
  KEYS = { increment: "counter", decrement: "counter", read_multi: nil, delete_multi: nil }.freeze

  def build(url, **options)
    ActiveSupport::Cache.lookup_store(:tiercel_store, url, timeout: BUDGET_SECONDS, breaker: false, **options)
  end

  # @return [Array<String>] lines in the log of all stores during the block
  def logged
    log = StringIO.new
    before = ActiveSupport::Cache::Store.logger
    ActiveSupport::Cache::Store.logger = Logger.new(log, formatter: ->(severity, *, text) { "#{severity} #{text}\n" })
    yield
    log.string.lines
  ensure
    ActiveSupport::Cache::Store.logger = before
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # The budgets are short, and without them the calls would wait for a minute or for ever. So the bound is far from
  # both, whatever else runs. (The lab measures the times.)
  #
  # @return [Object] the block's value
  def within_budget
    start = now
    value = yield
    assert_operator now - start, :<, 20
    value
  end

  # Retries a call, because the first calls after a failure may still miss on a busy machine.
  #
  # @return [Object] the block's first value that is neither nil nor false
  def answer(within: 20, &call)
    value = nil
    capture_reports { wait_until("an answer", within: within) { value = call.call } }
    value
  end

  # Accepts only misses and the expected value, and waits until all values are found.
  def assert_found(expected, within: 20)
    answer(within: within) do
      found = yield
      assert_empty found.to_a - expected.to_a
      found.size == expected.size
    end
  end

  # Expects one report with backend and key for each failed call.
  def assert_reported(reports, key, type = Tiercel::Unavailable)
    assert_equal 1, reports.size, reports.map { |report| report.error.message }.join("\n")
    report = reports.first
    assert_kind_of type, report.error
    assert_match %r{(memcached|redis\S*|unix):/}, report.context[:backend]
    assert_match %r{(memcached|redis\S*|unix):/}, report.error.message
    assert_equal Tiercel::KeyMask.of(key), report.context[:key] if key
  end

  # Checks the whole row: each call's result, its single report, its time, and that blocks run.
  def assert_misses(store, type = Tiercel::Unavailable)
    MISSES.each do |name, (call, expected)|
      value = :nothing
      reports = capture_reports { value = within_budget { call.call(store) } }
      expected.nil? ? assert_nil(value, name) : assert_equal(expected, value, name)
      assert_reported(reports, KEYS.fetch(name, "key"), type)
    end
    assert_blocks_run(store)
  end

  def assert_blocks_run(store)
    runs = 0
    capture_reports do
      assert_equal "computed", within_budget { store.fetch("key") { (runs += 1) && "computed" } }
      both = within_budget { store.fetch_multi("a", "b") { |name| (runs += 1) && name.upcase } }
      assert_equal({ "a" => "A", "b" => "B" }, both)
      assert_raises(ZeroDivisionError) { store.fetch("key") { (runs += 1) && 1 / 0 } }
    end
    assert_equal 4, runs
  end

  # After the failure every caller, from many threads, gets its own value.
  def assert_no_reply_for_another(store)
    mixed = Array.new(6) do |thread|
      Thread.new do
        (0...40).filter_map do |index|
          key = "own/#{thread}/#{index}"
          value = "#{key}=#{"x" * (index * 40)}"
          store.write(key, value)
          read = store.read(key)
          [key, read] unless read.nil? || read == value
        end
      end
    end.flat_map(&:value)
    assert_empty mixed
    answer { store.write("after", "works") }
    assert_equal "works", answer { store.read("after") }
  end

  # Three failures open the breaker; then no call is made or reported; a successful probe closes it.
  def assert_breaker(url, broken, healed, **options)
    waiting, short = [LONG_BREAKER, { failures: 3, cool_down: 0.2, max_cool_down: 0.2 }].map do |breaker|
      build(url, breaker: breaker, **options).tap { |store| answer { store.write("warm", "value") } }
    end
    broken.call
    assert_opens(waiting)
    capture_reports { 3.times { assert_nil short.read("key") } }
    healed.call
    answer { short.write("key", "back") }
    assert_equal "back", answer { short.read("key") }
    assert_not_asked(waiting)
  end

  # @param store [ActiveSupport::Cache::Store] a store with {LONG_BREAKER}
  def assert_opens(store)
    assert_equal 3, capture_reports { 3.times { assert_nil store.read("key") } }.size
    assert_not_asked(store)
  end

  # A request that fails is reported and costs its time budget or a connection. (The lab measures the time.)
  def assert_not_asked(store)
    assert_empty capture_reports { within_budget { 20.times { assert_nil store.read("key") } } }
  end

  # A late reply must not answer the next request.
  def assert_late_replies_are_lost(proxy, store)
    10.times { |index| answer { store.write("late#{index}", "value#{index}") } }
    capture_reports do
      10.times do |index|
        proxy.change(hold: true)
        assert_nil store.read("late#{index}")
        proxy.change(hold: false)
        following = (index + 1) % 10
        assert_includes [nil, "value#{following}"], store.read("late#{following}")
      end
    end
    assert_equal "value3", answer { store.read("late3") }
  end

  # Kills threads and times calls out in the middle of a call.
  def assert_interrupts_are_harmless(proxy, store)
    proxy.change(delay: 0.02)
    20.times { |index| answer { store.write("cut#{index}", "value#{index}") } }
    capture_reports do
      20.times do |index|
        if index.even?
          thread = Thread.new { store.read("cut#{index}") }
          sleep 0.005 * rand # at any step
          thread.kill.join
        else
          Timeout.timeout(0.008) { store.read("cut#{index}") }
        end
      rescue Timeout::Error
        nil
      end
    end
    20.times { |index| assert_equal "value#{index}", answer { store.read("cut#{index}") } }
    proxy.change(delay: 0.0)
    assert_no_reply_for_another(store)
  end
end
