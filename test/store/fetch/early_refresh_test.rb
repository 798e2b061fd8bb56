# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# The cost of `early_refresh:` for a hit, and the limit of remembered attempts.
class EarlyRefreshTest < Tiercel::TestCase
  Attempts = Tiercel::Store::Fetch::Attempts

  def test_a_key_is_tried_once_in_a_while
    attempts = Attempts.new
    assert_equal [true, false, true], [attempts.begin("a", 60), attempts.begin("a", 60), attempts.begin("b", 60)]
    attempts.forget("a")
    assert attempts.begin("a", -1)
    assert attempts.begin("a", 60), "the while is over"
  end

  def test_no_more_than_so_many_are_kept
    attempts = Attempts.new
    (Attempts::MOST + 10).times { |index| attempts.begin("key/#{index}", 60) }
    assert_equal Attempts::MOST, attempts.size
  end

  def test_a_hit_that_has_time_is_one_read
    [{}, { frozen: true }, { fast_path: false }].each do |options|
      store = Tiercel.new("memory:", lease: true, expires_in: 600, early_refresh: 0.1, **options)
      store.fetch("name") { %w[made] }
      hits = store.stats[:hits]
      3.times { assert_equal(%w[made], store.fetch("name") { flunk }) }
      assert_equal hits + 3, store.stats[:hits]
      assert_equal(options[:frozen] || false, store.fetch("name") { flunk }.frozen?)
    ensure
      store.close
    end
  end

  def test_a_block_may_be_left_and_may_fetch
    store = Tiercel.new("memory:", lease: true, early_refresh: 0.1, expires_in: 600)
    assert_equal :left, (store.fetch("name") { break :left })
    store.fetch("inner", expires_in: 600) { "inner" }
    value = store.fetch("outer", skip_nil: true) { "#{store.fetch("inner") { flunk }} of outer" }
    assert_equal "inner of outer", value
  ensure
    store.close
  end

  def test_values_that_are_no_shares
    [0, 1, -0.1, "0.1", 2].each do |share|
      assert_raises(Tiercel::ConfigurationError) { Tiercel.new("memory:", early_refresh: share) }
    end
  end
end
