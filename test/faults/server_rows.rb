# frozen_string_literal: true

require_relative "hung_rows"
require_relative "remote_failures"

# The rows of the table that memcached and Redis share. The including class defines `start_server(**options)`.
module ServerRows
  include RemoteFailures
  include HungRows

  def with_server(**options)
    server = start_server(**options)
    yield server
  ensure
    server&.stop
  end

  def with_proxy(**)
    with_server { |server| Proxy.run(server, **) { |proxy| yield proxy, server } }
  end

  def test_absent_at_start
    place = start_server.tap(&:stop)
    store = build(place.url)
    assert_misses(store)
    place.start
    assert_no_reply_for_another(store)
  ensure
    place&.stop
  end

  def test_killed_in_use
    with_server do |server|
      store = build(server.url)
      store.write("key", "value")
      server.kill
      assert_misses(store)
    end
  end

  def test_killed_breaker
    with_server { |server| assert_breaker(server.url, -> { server.kill }, -> { server.start }) }
  end

  def test_restarted
    with_server do |server|
      store = build(server.url, timeout: PATIENCE_SECONDS)
      threads = Array.new(3) { Thread.new { 20.times { store.write("key", "value") } } }
      threads.each(&:join)
      server.restart
      reports = capture_reports do
        assert_nil store.read("key")
        assert_equal true, store.write("key", "value")
        assert_equal 1, store.increment("counter")
        assert_equal true, store.write("new", "value", unless_exist: true)
      end
      assert_empty reports
      assert_no_reply_for_another(store)
    end
  end

  { slow_beyond_the_budget: { delay: 60 }, replying_garbage: { garble: true } }.each do |name, change|
    define_method(:"test_#{name}") do
      with_proxy do |proxy, _|
        store = build(proxy.url)
        store.write("key", "value")
        proxy.change(**change)
        assert_misses(store)
        proxy.heal
        assert_no_reply_for_another(store)
      end
    end
  end

  def test_cut_inside_a_reply
    with_proxy do |proxy, _|
      store = build(proxy.url)
      value = Random.bytes(10_000)
      answer { store.write("key", value) }
      [0, 1, 7, 100, 5_000].each do |bytes|
        proxy.heal
        assert_equal value, answer { store.read("key") }
        proxy.change(cut_after: bytes)
        reports = capture_reports { assert_nil within_budget { store.read("key") } }
        assert_reported(reports, "key")
      end
      proxy.change(cut_after: 1)
      assert_misses(store)
      proxy.heal
      assert_no_reply_for_another(store)
    end
  end

  def test_late_replies_reach_nobody
    with_proxy { |proxy, _| assert_late_replies_are_lost(proxy, build(proxy.url, pool: { size: 1 })) }
  end

  def test_thread_kill_and_timeout_in_mid_call
    with_proxy { |proxy, _| assert_interrupts_are_harmless(proxy, build(proxy.url, pool: { size: 2 }, timeout: 1)) }
  end

  def test_a_killed_caller_gives_its_place_in_the_pool_back
    with_proxy do |proxy, _|
      store = build(proxy.url, pool: { size: 1 }, timeout: PATIENCE_SECONDS)
      store.write("key", "value")
      proxy.change(hold: true)
      10.times do
        thread = Thread.new { store.read("key") }
        wait_until("its wait") { thread.status == "sleep" }
        thread.kill.join
      end
      proxy.change(hold: false)
      assert_equal "value", answer { store.read("key") }
    end
  end

  def test_pool_exhausted
    with_proxy do |proxy, _|
      store = build(proxy.url, pool: { size: 1, timeout: 0.02 }, timeout: 3 * PATIENCE_SECONDS)
      store.write("key", "value")
      proxy.change(hold: true)
      holder = Thread.new { store.read("key") }
      wait_until("the one connection's use") { holder.status == "sleep" }
      assert_misses(store, Tiercel::PoolExhausted)
      proxy.change(hold: false)
      assert_equal "value", holder.value
      assert_no_reply_for_another(store)
    end
  end

  # Callers that time out while waiting for a connection count neither as failures nor as successes.
  def test_more_threads_than_connections
    with_server do |server|
      store = build(server.url, timeout: PATIENCE_SECONDS, pool: 5)
      store.write("key", "value")
      store.write("other", "value")
      found = nil
      reports = capture_reports do
        threads = Array.new(25) { Thread.new { Array.new(200) { |call| read_some(store, call) } } }
        found = threads.flat_map(&:value).tally
      end
      assert_equal({ %w[value] => 25 * 180, %w[value value] => 25 * 20 }, found)
      assert_empty reports
    end
  end

  def read_some(store, call)
    (call % 10).zero? ? store.read_multi("key", "other").values : [store.read("key")]
  end

  def test_a_fork_in_mid_call
    with_proxy do |proxy, _|
      store = build(proxy.url, pool: { size: 2 }, timeout: PATIENCE_SECONDS)
      20.times { |index| store.write("fork#{index}", "value#{index}") }
      proxy.change(delay: 0.05)
      reader = Thread.new { store.read("fork1") }
      wait_until("its wait") { reader.status == "sleep" || !reader.alive? }
      answers = fork_and_wait(2) { |child| (0...5).map { |index| store.read("fork#{(child * 5) + index}") } }
      assert_equal "value1", reader.value
      assert_equal [(0...5).map { |index| "value#{index}" }, (5...10).map { |index| "value#{index}" }], answers
      assert_equal "value7", store.read("fork7")
    end
  end
end
