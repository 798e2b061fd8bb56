# frozen_string_literal: true

require "test_helper"

class BreakerTest < Tiercel::TestCase
  def setup
    @now = 100.0
    @breaker = Tiercel::Breaker.new(failures: 3, cool_down: 1.0, max_cool_down: 3.0, clock: -> { now })
  end

  # @others: calls of other threads while this one reads the clock.
  def now = @now.tap { @others&.shift&.call }

  def open
    3.times { @breaker.failed }
    assert_predicate @breaker, :open?
  end

  def test_it_opens_after_failures_in_a_row
    2.times { assert_equal true, @breaker.failed }
    refute_predicate @breaker, :open?
    assert_equal true, @breaker.allow?
    assert_equal true, @breaker.failed
    assert_predicate @breaker, :open?
    assert_equal false, @breaker.allow?
  end

  def test_a_success_between_starts_the_count_anew
    2.times { @breaker.failed }
    @breaker.succeeded
    2.times { @breaker.failed }
    refute_predicate @breaker, :open?
  end

  def test_one_probe_after_the_cool_down
    open
    @now += 0.99
    assert_equal false, @breaker.allow?
    @now += 0.02
    @others = [-> { assert_equal true, @breaker.allow? }]
    assert_equal [false, false], [@breaker.allow?, @breaker.allow?]
  end

  def test_failed_probes_lengthen_the_cool_down_up_to_a_bound
    open
    @now += 1.01
    [2.0, 3.0, 3.0].each do |cool_down|
      assert_equal true, @breaker.allow?
      assert_equal true, @breaker.failed
      @now += cool_down - 0.01
      assert_equal false, @breaker.allow?
      @now += 0.02
    end
    assert_equal true, @breaker.allow?
    @breaker.succeeded
    open
    @now += 1.01
    assert_equal true, @breaker.allow?
  end

  def test_a_probe_that_never_ends_holds_nobody_up
    open
    @now += 1.01
    assert_equal true, @breaker.allow?
    @now += 1.01
    assert_equal true, @breaker.allow?
  end

  def test_calls_that_were_under_way_when_it_opened_are_not_worth_a_report
    open
    assert_equal false, @breaker.failed
    @now += 0.5
    assert_equal false, @breaker.failed
    @now += 0.51
    assert_equal true, @breaker.allow?, "late failures do not move the probe"
  end

  def test_options
    assert_kind_of Tiercel::Breaker, Tiercel::Breaker.build(true)
    assert_kind_of Tiercel::Breaker, Tiercel::Breaker.build({ "failures" => 1 })
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel::Breaker.build({ threshold: 1 }) }
    assert_match(/threshold.*failures/, error.message)
    ["yes", { failures: 0 }, { failures: "3" }, { cool_down: 0 }, { cool_down: "1" },
     { cool_down: 2, max_cool_down: 1 }, { max_cool_down: "5" }].each do |wrong|
      assert_raises(Tiercel::ConfigurationError, wrong.inspect) { Tiercel::Breaker.build(wrong) }
    end
    assert_kind_of Tiercel::Breaker, Tiercel::Breaker.build({ cool_down: 60 })
  end
end
