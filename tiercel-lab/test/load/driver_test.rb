# frozen_string_literal: true

require_relative "../support/lab_case"

class LoadDriverTest < LabCase
  Arrivals = Lab::Load::Arrivals

  # The clock advances only when the driver sleeps or a request is served.
  def drive(arrivals, service: ->(_) { 0.0 }, **options)
    now = 100.0
    served = -1
    driver = Lab::Load::Driver.new(clock: -> { now += 2e-6 }, wait: ->(time) { now += time })
    driver.run(Arrivals.new(**arrivals), Lab::Load::Keys.new(items: 3), **options) do |_index|
      now += service.call(served += 1)
      served != 7
    end
  end

  def histograms(result) = %i[response service].map { |name| Lab::Statistics::Histogram.from_h(result[name]) }

  def test_requests_that_were_due_during_a_stall_count_their_wait
    result = drive({ kind: "constant", rate: 500, seconds: 1 }, service: ->(index) { index == 10 ? 0.1 : 0.0001 })
    response, service = histograms(result)
    assert_equal [500, 0, false], result.values_at(:requests, :unsent, :rising)
    assert_in_delta 1.0, result[:share], 0.01
    assert_in_delta 0.1e9, response.max, 0.01e9
    # During 100 ms at 500/s, 50 requests became due, and the driver needs a little longer to catch up.
    assert_operator response.quantile(0.92), :>, 0.001e9
    assert_operator service.quantile(0.99), :<, 0.001e9
  end

  def test_an_overload_shows_in_the_share_and_rises
    result = drive({ kind: "constant", rate: 1_000, seconds: 1 }, service: ->(_) { 0.002 })
    assert_in_delta 0.5, result[:share], 0.01
    assert_in_delta 500, result[:achieved], 5
    assert_in_delta 1_000, result[:offered], 1
    assert_equal [true, 0], result.values_at(:rising, :unsent)
    assert_operator result[:share], :<, Lab::Load::Driver::LEAST_SHARE
  end

  # Each request takes ten times the time between two of them. The load ends after three seconds, and the remaining
  # requests are never sent.
  def test_an_overload_ends
    result = drive({ kind: "constant", rate: 100, seconds: 1 }, service: ->(_) { 0.1 })
    assert_in_delta 31, result[:requests], 1
    assert_equal 100, result[:requests] + result[:unsent]
  end

  def test_a_closed_load_by_requests_and_by_seconds
    result = drive({ requests: 10 }, service: ->(_) { 0.001 })
    assert_equal [10, 9], result.values_at(:requests, :hits)
    assert_in_delta 0.01, result[:seconds], 0.001
    each = drive({ seconds: 0.1 }, service: ->(_) { 0.01 }, measure: "each")
    assert_equal 10, each[:ns].size
    assert_in_delta 0.01e9, each[:ns].max, 0.001e9
    assert_equal 10, drive({ requests: 10 }, measure: "histogram")[:service]["count"]
  end

  def test_a_load_begins_at_its_moment_and_says_how_late_it_came
    assert_operator drive({ requests: 1, at: 99.0 })[:late_seconds], :>=, 1.0
    assert_in_delta 0.0, drive({ requests: 1, at: 105.0 })[:late_seconds], 0.001
  end

  def test_threads_each_make_requests_and_raise_where_they_are_waited_for
    assert_equal [0, 1, 2], Lab::Load::Driver.in_threads(3) { |thread| thread }
    assert_raises(Lab::Missed) { Lab::Load::Driver.in_threads(2) { raise Lab::Missed, "gone" } }
  end

  def test_exponential_gaps_have_the_rate_and_come_again_with_the_seed
    one, other, third = [1, 1, 2].map do |seed|
      Arrivals.new(kind: "exponential", rate: 2_000, seconds: 10, seed:).schedule
    end
    assert_equal one, other
    refute_equal one, third
    gaps = one.each_cons(2).map { |from, to| to - from }
    assert_in_delta 1 / 2_000.0, gaps.sum / gaps.size, 0.00002
    # In an exponential distribution a share of 1 - 1/e lies below the mean.
    assert_in_delta 1 - (1 / Math::E), gaps.count { |gap| gap < 1 / 2_000.0 }.fdiv(gaps.size), 0.02
  end

  def test_constant_gaps
    assert_equal [0.0, 0.25, 0.5, 0.75], Arrivals.new(kind: "constant", rate: 4, seconds: 1).schedule
  end
end
