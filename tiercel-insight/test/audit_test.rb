# frozen_string_literal: true

# suites: insight*

require "test_helper"
require "active_support/all"
require "active_support/cache/tiercel_store"
require "tiercel/insight"

# The audit of `fetch` on every store: stale values are found, everything else is not reported, and the caller notices
# nothing.
class AuditTest < Tiercel::TestCase
  include Tiercel::Insight::TestHelper

  Product = Struct.new(:name, :price)
  Node = Class.new { attr_accessor :others }
  class Moment < ActiveSupport::CurrentAttributes; attribute :at; end

  def teardown = Tiercel::Insight.audit(nil)

  def each_store
    with_tmpdir do |folder|
      { "memory store" => ActiveSupport::Cache::MemoryStore.new,
        "file store" => ActiveSupport::Cache::FileStore.new("#{folder}/rails"),
        "memory:" => Tiercel.new("memory:", size: "8MB"),
        "shared:" => Tiercel.new("shared:#{folder}/segment", size: "8MB"),
        "sqlite:" => Tiercel.new("sqlite:#{folder}/cache.sqlite3") }.each do |name, store|
        @audit = Tiercel::Insight.audit(1.0, store:, values: true)
        yield store, name
        store.close if store.respond_to?(:close)
      end
    end
  end

  def test_a_stale_value_is_found_and_the_caller_gets_the_cached_one
    each_store do |store, name|
      price = 10
      read = -> { store.fetch("product/7") { { "price" => price, "name" => "lamp" } } }
      2.times { assert_equal 10, read.call["price"] }
      assert_empty @audit.to_a, name
      price = 12
      assert_equal 10, read.call["price"]
      one = @audit.stale.first
      assert_equal "value[price]: 10 cached, 12 now", one["difference"], name
      assert_match(/audit_test\.rb:\d+\z/, one["at"])
      assert_equal 10, store.read("product/7")["price"]
    end
  end

  def test_values_are_hidden_unless_asked_for
    store = ActiveSupport::Cache::MemoryStore.new
    audit = Tiercel::Insight.audit(1.0, store:)
    value = { "alice@example.com" => "secret-1", "plain" => [1] }
    2.times { store.fetch("user:alice@example.com") { value } }
    value = { "alice@example.com" => "secret-2", "plain" => [2] }
    store.fetch("user:alice@example.com") { value }
    refute_match(/alice|secret/, audit.to_a.to_s)
    assert_equal 1, audit.stale.size
    2.times { |index| store.fetch("number") { 4_711 + index } }
    ["secret-3", nil].each { |changed| store.fetch("changed") { changed } }
    refute_match(/471[12]|secret/, audit.to_a.to_s)
  end

  def test_what_differs_by_itself_is_not_repeatable
    each_store do |store, name|
      counter, node, nodes = Struct.new(:number).new(0), Node.new, Array.new(2) { Node.new }
      wrapper = Class.new(SimpleDelegator) { def rate = @rate ||= rand }.new(Node.new)
      nodes[1].others = {}
      blocks = { time: -> { Time.now.to_i / 60 }, random: -> { rand }, day: -> { Date.current.to_s },
                 new: -> { Time.new.day }, token: -> { SecureRandom.hex }, object: -> { [Object.new.to_s] },
                 today: -> { Date.today.to_s }, date: -> { DateTime.now.day }, counter: -> { counter.number += 1 },
                 counted: -> { store.increment("calls") }, greeting: -> { Time.now.hour < 12 },
                 memo: -> { node.others ||= rand }, member: -> { nodes[0].others ||= rand },
                 wrapper: -> { wrapper.rate }, wrapped: -> { wrapper.others ||= rand },
                 kept: -> { nodes[1].others[1] ||= rand }, weekend: -> { Date.current.on_weekend? },
                 ago: -> { (Time.now - 9_000_000).month } }
      blocks.each do |key, block|
        store.write(key, "outdated")
        audit = Tiercel::Insight.audit(1.0, store:)
        store.fetch(key) { block.call }
        assert_equal ["not repeatable"], (audit.to_a.map { |one| one["status"] }), "#{name}, #{key}"
      end
    end
  end

  # Of any distance, as a whole day, a number, in containers and objects.
  def test_a_time_that_the_caller_took_from_the_clock_is_not_repeatable
    store = ActiveSupport::Cache::MemoryStore.new
    times = { far: 30.days.ago, day: 1.week.ago.beginning_of_day, date: Date.current - 30, seconds: 9.days.ago.to_i,
              month: Time.current.beginning_of_month, float: 5.days.ago.to_f, range: (1.week.ago..),
              object: Node.new.tap { |one| one.others = Product.new([3.days.ago]) }, hash: { list: [2.days.ago] },
              struct: Product.new("a", 1.day.ago), text: 1.day.ago.iso8601,
              inner: Node.new.tap { |one| one.others = Node.new.tap { |inner| inner.others = 3.days.ago } } }
    check = lambda do |key, time|
      Tiercel::Insight.audit(1.0, store:)
      store.write(key, "outdated")
      store.fetch(key) { (time = time.others while Node === time) || (time || Moment.at).inspect }
      assert_equal ["not repeatable"], Tiercel::Insight.auditor.to_a.map { |one| one["status"] }, key
    end
    times.each { |key, time| check.call(key, time) }
    minute = Time.now.to_i / 60 * 60
    [30, 60].each { |at| Time.stub(:now, Time.at(minute + at)) { check.call("at #{at}", Time.now - 2_592_000) } }
    Moment.set(at: 30.days.ago) { check.call("current", nil) }
    # Such a time keeps its distance, if it moves in step with the clock.
    day = 70.days.ago.to_date
    [0, 1].each { |days| travel(days.days) { store.fetch("distance") { (Date.current - day).to_i } } }
    # A month that has just begun is as empty as a later one.
    month, year = times[:month], times[:month].year
    [1, 0].each { |fewer| store.fetch("visits") { month.year < year ? 31 : fewer } }
    assert_empty Tiercel::Insight.auditor.stale
  end

  def test_a_time_of_the_key_or_with_the_digits_of_a_column_is_an_input
    store = ActiveSupport::Cache::MemoryStore.new
    check = lambda do |key, time|
      audit = Tiercel::Insight.audit(1.0, store:)
      ["title", "new title"].each { |title| store.fetch(key) { [title, time.to_s] } }
      assert_equal 1, audit.stale.size, key
    end
    # At ten past: 17 and 30 seconds away from whole minutes, and in no first second of an hour.
    travel(617 - (Time.now.to_i % 3_600)) do
      at = Time.at(Time.now.to_i - 86_430, 123_456)
      { "calendar/2026-12-24" => Date.new(2026, 12, 24), "day_20261224" => Date.new(2026, 12, 24), at.to_s => at.round,
        "month/2026/12" => Date.new(2026, 12), "since/#{at.to_i}" => at.round, "epoch/#{at.to_i}" => at.to_i,
        "column" => at, "appointment" => 3.days.from_now.beginning_of_day + 50_400,
        "first second" => at.beginning_of_hour + 0.5 }.each { |pair| check.call(*pair) }
    end
  end

  # Through 14 records that know each other lead more paths than anybody could compare.
  def test_a_graph_of_objects
    store = ActiveSupport::Cache::MemoryStore.new
    audit = Tiercel::Insight.audit(1.0, store:)
    nodes = ->(name) { Array.new(14) { Node.new }.tap { |all| all.each { |one| one.others = [*all, name] } } }
    %w[old old new].each { |name| store.fetch("graph") { nodes.call(name) } }
    assert_equal [["stale", 1]], (audit.to_a.map { |one| one.values_at("status", "count") })
  end

  def test_equal_values_are_equal
    each_store do |store, name|
      at = Time.at(1_700_000_000, 123_456_789, :nsec)
      value = -> { { list: [1, 2.5, nil, true, :symbol], time: at, date: Date.new(2026, 1, 2), set: Set[3, 1],
                     product: Product.new("a", 1), text: "é".html_safe, nested: { "a" => { 1 => [] } },
                     big: BigDecimal("1.25"), nan: Float::NAN } }
      3.times { |at| store.fetch("value") { value.call.merge(sum: [0.1, 0.2, 0.3].rotate(at).inject(:+)) } }
      assert_empty @audit.to_a, name
    end
  end

  def test_an_entry_that_changes_meanwhile_is_not_reported
    each_store do |store, name|
      store.fetch("a") { 1 }
      store.fetch("a") do
        Tiercel::Insight.audit(nil)
        store.write("a", 3)
        2
      end
      assert_empty @audit.to_a, name
    end
  end

  def test_the_caller_notices_nothing
    each_store do |store, name|
      store.fetch("a") { 1 }
      assert_equal 1, store.fetch("a") { raise "failed" }
      assert_equal(1, store.fetch("a") { break 2 })
      assert_equal(1, catch(:out) { store.fetch("a") { throw :out, 3 } })
      assert_equal 1, -> { store.fetch("a") { return 4 } }.call
      # Errors of other kinds, and a caller that handles an exception.
      assert_equal 1, store.fetch("a") { raise NotImplementedError }
      assert_equal 1, store.fetch("a") { deep = -> { deep.call }; deep.call }
      begin
        raise "failed"
      rescue RuntimeError
        assert_equal 1, catch(:out) { store.fetch("a") { throw :out, 3 } }
      end
      assert_empty @audit.to_a, name
    end
  end

  # A raw value comes back as text, a JSON coder changes times and Symbols, nil stays nil.
  def test_what_a_store_changes_is_no_difference
    each_store do |store, name|
      3.times do
        store.fetch("raw", raw: true) { 5 }
        store.fetch("text", raw: true) { "é" }
        store.fetch("nil") { nil }
        store.fetch("frozen") { "a".freeze }
        store.fetch("racing", expires_in: 60, race_condition_ttl: 5) { [1, 2] }
        store.fetch("versioned", version: "1") { { at: Time.at(5) } }
      end
      assert_empty @audit.to_a, name
    end
    json = Class.new { def dump(value) = ActiveSupport::JSON.encode(value); def load(text) = JSON.parse(text) }.new
    store = ActiveSupport::Cache::MemoryStore.new(serializer: json)
    audit = Tiercel::Insight.audit(1.0, store:)
    3.times { store.fetch("json") { { at: Time.at(5).utc, name: :lamp, price: BigDecimal("1.5") } } }
    assert_empty audit.to_a
  end

  # A value of three quarters of the runs agrees five times in a quarter of the cases.
  def test_a_choice_among_few_is_not_stale
    store = ActiveSupport::Cache::MemoryStore.new
    audit = Tiercel::Insight.audit(1.0, store:)
    audit.define_singleton_method(:monotonic) { 0.0 }
    random, reports = Random.new(5), []
    ActiveSupport::Notifications.subscribed(->(*) { reports << 1 }, "stale_value.tiercel") do
      300.times { |index| store.fetch("choice/#{index % 3}") { random.rand(4) / 3 } }
    end
    assert_empty reports
    assert_equal ["not repeatable"], (audit.to_a.map { |one| one["status"] })
  end

  def test_a_block_that_was_not_repeatable_once_is_stale_no_longer
    store = ActiveSupport::Cache::MemoryStore.new
    audit = Tiercel::Insight.audit(1.0, store:)
    found = [-> { 0 }, -> { 1 }, -> { rand }, -> { 2 }].map do |block|
      store.fetch("page") { block.call }
      audit.to_a.map { |one| one["status"] }
    end
    assert_equal [[], ["stale"], ["not repeatable"], ["not repeatable"]], found
  end

  # Blocks in blocks store nothing, and neither their reads nor the audit's own one after a difference count.
  def test_the_audit_itself_changes_and_counts_nothing
    each_store do |store, name|
      Tiercel::Insight.start(store, folder: "#{dir}/#{name}")
      store.write("nil", nil)
      value, tiercel = 1, name.end_with?(":")
      visit = lambda do
        store.fetch("outer", expires_in: 60, **(tiercel ? { tags: "t" } : {})) do
          found = %w[nil nil absent].map { |key| store.read(key) } + store.read_multi("nil", "absent").to_a
          found << store.exist?("nil") << store.fetch_multi("x", "y") { |key| key * 2 }
          found << store.fetch_multi_missing("x") { 1 } << store.fetch_missing("x") { 1 } if tiercel
          found << store.fetch("inner") { store.write("side", "inner") && 1 }
          [value, found.size]
        end
      end
      visit.call.then { %w[x inner side].each { |key| store.delete(key) } }
      3.times { visit.call }
      %w[x inner side].each { |key| refute store.exist?(key), "#{name}, #{key}" }
      assert_equal [3, []], [@audit.checked, @audit.to_a], name
      value = 2
      visit.call
      assert_equal 1, @audit.stale.size, name
      assert_equal [7, 6, 4], Tiercel::Insight.figures.totals.values_at(:hits, :misses, :blocks), name
    ensure
      Tiercel::Insight.stop
    end
  end

  def test_variables_and_entries_are_as_before
    each_store do |store, name|
      store.write("a", "outdated")
      store.write("hour", 1, expires_in: 3_600)
      list, text, @hash = [], +"", { b: 1 }
      store.fetch("a") do
        list << text.replace("c")
        @hash.delete(:b)
        [@memo ||= rand, store.read("hour")]
      end
      assert_equal [[], "", { b: 1 }, nil], [list, text, @hash, defined?(@memo)], name
      assert store.exist?("hour"), "#{name}: a read in a run whose clock is ahead"
      assert_equal ["not repeatable"], @audit.to_a.map { |one| one["status"] }, name
    end
  end

  def test_limits
    store = ActiveSupport::Cache::MemoryStore.new
    audit = Tiercel::Insight.audit(0.5, store:)
    clock, ran, also, slow = Struct.new(:now).new(6_000.0), Queue.new, Queue.new, Queue.new
    audit.define_singleton_method(:monotonic) { clock.now }
    { began: 6_000.0, due: 0.0 }.each { |name, value| audit.instance_variable_set(:"@#{name}", value) }
    visits = lambda do |count|
      count.times do
        store.fetch("products/1") { ran << 1; 1 }
        store.fetch("products/2") { also << 1; 1 }
      end
    end
    store.write_multi("products/1" => 1, "products/2" => 1)
    visits.call(1_000)
    assert_equal [10, 10], [ran.size + also.size, audit.checked], "in a minute"
    assert_operator [ran.size, also.size].min, :>, 2, "of two calls in each request"
    clock[0] += 60
    visits.call(1_000)
    assert_equal 20, audit.checked
    clock[0] += 60
    400.times { store.fetch("slow/1") { slow << 1; clock[0] += 2; 1 } }
    assert_equal 2, slow.size, "beyond a hundredth of the time"
  end

  def test_exceptions_and_wrong_options
    store = ActiveSupport::Cache::MemoryStore.new
    audit = Tiercel::Insight.audit(1.0, store:, except: [/token/, "plain"])
    value = 1
    3.times { |index| (value += index) && %w[a-token is/plain].each { |name| store.fetch(name) { value } } }
    assert_empty audit.to_a
    error = assert_raises(Tiercel::Insight::ConfigurationError) { Tiercel::Insight.audit(2) }
    assert_match(/expected a share of the hits, such as 0.001, got 2/, error.message)
  end

  def test_assert_cache_truthful
    store = ActiveSupport::Cache::MemoryStore.new
    price = 1
    Tiercel::Insight::Audit.install([store])
    read = -> { assert_cache_truthful { store.fetch("price") { price } } }
    assert_match(/No hit was verified/, assert_raises(Minitest::Assertion, &read).message)
    read.call
    price = 2
    assert_match(/stale values:\n(price .*value: 1 cached, 2|\* )/, assert_raises(Minitest::Assertion, &read).message)
    assert_nil Tiercel::Insight.auditor
  end

  # INFO of a Redis has 150 figures; a store may have none with an explanation.
  def test_the_summary_prints_the_figures_that_it_explains
    info = { "used_memory" => "1048576", "maxmemory" => "0", "redis_version" => "7.0.1", "io_threads_active" => "0" }
    { info => /^The store's own figures:\n  used_memory: 1\.0 MB  \(bytes.*\)\n  maxmemory: 0(\.0)? B  \(its.*\)\z/,
      info.slice("redis_version") => nil, nil => /^  error: undefined method .*to_hash/ }.each do |stats, expected|
      store = ActiveSupport::Cache::MemoryStore.new
      store.define_singleton_method(:stats) { stats.to_hash }
      text = Tiercel::Insight::Summary.new(store).to_text
      expected ? assert_match(expected, text) : refute_match(/own figures/, text)
    end
  end
end
