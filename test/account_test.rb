# frozen_string_literal: true
# suites: store*

require "test_helper"
require "tiercel"
require "tiercel/lab/servers"

# The account of a store counts its own calls, on every backend.
class AccountTest < Tiercel::TestCase
  def places(dir)
    [["memory:"], ["shared:#{dir}/segment"], ["file:#{dir}/files"], ["sqlite:#{dir}/cache.sqlite3"],
     ["shared:#{dir}/near", "sqlite:#{dir}/far.sqlite3"], ["memory:", "file:#{dir}/far"]]
  end

  def each_store
    with_tmpdir do |dir|
      places(dir).each do |urls|
        store = Tiercel.new(*urls)
        yield store, urls
      ensure
        store&.close
      end
    end
  end

  def test_totals_are_what_the_calls_were
    each_store do |store, urls|
      20.times { |index| store.fetch("item:#{index}") { { index: } } }
      20.times { |index| store.fetch("item:#{index}") { flunk } }
      store.write("text", "plain")
      store.read("text")
      store.read("nothing")
      store.read_multi("text", "item:1", "nothing")
      store.exist?("text")
      store.delete("text")
      totals = store.account.totals
      assert_equal [24, 22, 20, 21, 1], totals.values_at(:hits, :misses, :blocks, :writes, :deletes), urls.inspect
      assert_operator totals[:block_seconds], :>, 0
    end
  end

  # A round may last longer than a second, so another one could be due at each key.
  def test_the_misses_of_a_multi_read_share_one_round
    each_store do |store, urls|
      store.read("nothing")
      looks = [2, 20].map do |count|
        second = 2_000_000_000
        names = Array.new(count) { |index| "no:#{index}" }
        Time.stub(:now, Time.at(second)) do # so that C asks Clock, too
          Tiercel::Clock.stub(:seconds, -> { second += 1 }) { store.read_multi(*names) }
        end
        second
      end
      assert_operator looks.first, :>, 2_000_000_000
      assert_equal looks.first, looks.last, urls.inspect
      assert_equal 23, store.account.totals[:misses], urls.inspect
    end
  end

  # A caller's Timeout may arrive before the clock is read.
  def test_an_interruption_before_a_block_reaches_the_caller
    store = Tiercel.new("memory:")
    reads = [-> { raise IOError, "interrupted" }, -> { 5 }]
    Tiercel::Clock.stub(:monotonic_ns, -> { reads.shift.call }) do
      assert_raises(IOError) { store.account.timed("key") { flunk } }
    end
    assert_equal 0, store.account.totals[:blocks]
  ensure
    store&.close
  end

  def test_what_has_ended_is_a_miss
    each_store do |store, urls|
      store.write("short", { a: 1 }, expires_in: 10)
      store.write("text", "text", expires_in: 10)
      travel(11) do
        store.read("short")
        store.read("text")
        store.read_multi("short", "text")
        store.exist?("short")
      end
      assert_equal [0, 5], store.account.totals.values_at(:hits, :misses), urls.inspect
    end
  end

  def test_a_near_tier_and_the_last_one_are_told_apart
    with_tmpdir do |dir|
      store = Tiercel.new("shared:#{dir}/near", "sqlite:#{dir}/far.sqlite3")
      store.write("a", "1")
      3.times { store.read("a") }
      store.read("b")
      near, last = store.account.totals[:tiers].values
      assert_equal [[3, 1], [0, 1]], [near, last].map { |tier| tier.values_at(:hits, :misses) }
    ensure
      store&.close
    end
  end

  def test_minutes_tell_what_happened_in_each
    each_store do |store, urls|
      2.times { |index| store.fetch("first:#{index}") { "value" } }
      travel(60) { 3.times { |index| store.fetch("second:#{index}") { "value" } } }
      travel(180) do
        store.read("nothing")
        minutes = store.account.minutes(5)
        assert_equal [0, 2, 3, 0, 1], minutes.map { |minute| minute[:misses] }, urls.inspect
        assert_equal [60.0] * 4, minutes.each_cons(2).map { |one, other| other[:at] - one[:at] }
      end
    end
  end

  # A machine without a clock of its own starts in 1970, and receives the time later.
  def test_minutes_of_an_account_that_began_long_ago_take_as_few_objects_as_of_a_new_one
    each_store do |store, urls|
      3.times { |index| store.fetch("first:#{index}") { "value" } }
      travel(40 * 86_400) do
        2.times { |index| store.fetch("second:#{index}") { "value" } }
        before = GC.stat(:total_allocated_objects)
        minutes = store.account.minutes(5)
        assert_operator GC.stat(:total_allocated_objects) - before, :<, 40_000, urls.inspect
        assert_equal [0, 0, 0, 0, 2], minutes.map { |minute| minute[:misses] }, urls.inspect
      end
    end
  end

  def test_hits_of_a_class_are_estimated_from_a_sample
    each_store do |store, urls|
      25.times { |index| store.fetch("post:#{index}") { "value" } }
      10_240.times { |index| store.read("post:#{index % 25}") }
      found = store.account.classes(:hour).find { |one| one[:name] == "post:*" }
      assert_includes 9_000..10_300, found[:hits], urls.inspect
    end
  end

  def test_failures_and_openings_of_the_breaker_are_counted
    server = Tiercel::Lab::Servers::Redis.new.start
    store = Tiercel.new(server.url, error_handler: ->(**) {}, breaker: { failures: 2, cool_down: 60 })
    store.read("a")
    server.kill
    5.times { store.read("a") }
    totals = store.account.totals
    assert_operator totals[:failures], :>=, 2
    assert_equal [1, 6], totals.values_at(:breaker_openings, :misses)
  ensure
    store&.close
    server&.stop
  end

  def test_stale_values_are_counted
    each_store do |store, urls|
      options = { expires_in: 10, stale_if_error: 60 }
      store.fetch("a", options) { "value" }
      travel(20) { assert_equal "value", store.fetch("a", options) { raise "down" } }
      assert_equal [1, 2], store.account.totals.values_at(:stale_hits, :blocks), urls.inspect
    end
  end

  def test_scope
    each_store do |store, urls|
      assert_equal urls == ["memory:"] ? :process : :machine, store.account.scope
    end
  end
end
