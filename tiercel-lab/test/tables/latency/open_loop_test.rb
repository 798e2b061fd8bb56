# frozen_string_literal: true

require_relative "../../support/lab_case"

class OpenLoopTest < LabCase
  # Time passes only when somebody sleeps or serves.
  def open_loop(rate:, seconds:, service:, **options)
    now = 100.0
    served = -1
    loop = Lab::Tables::Latency::OpenLoop.new(rate:, seconds:, clock: -> { now += 2e-6 },
                                              wait: ->(time) { now += time },
                                      **options)
    result = loop.run { now += service.call(served += 1) }
    [result, *%i[response service].map { |name| Lab::Statistics::Histogram.from_h(result[name]) }]
  end

  def test_requests_that_were_due_during_a_stall_count_their_wait
    stall = ->(index) { index == 10 ? 0.1 : 0.0001 }
    result, response, service = open_loop(rate: 500, seconds: 1, arrivals: "constant", service: stall)
    assert_equal 500, result[:requests]
    assert_in_delta 1.0, result[:share], 0.01
    assert_in_delta 0.1e9, response.max, 0.01e9
    # 100 ms at 500/s: 50 were due meanwhile, and the backlog takes a little more to be worked off.
    assert_operator response.quantile(0.92), :>, 0.001e9
    assert_operator service.quantile(0.99), :<, 0.001e9
  end

  def test_what_cannot_be_carried_shows_in_the_share
    result, = open_loop(rate: 1_000, seconds: 1, arrivals: "constant", service: ->(_) { 0.002 })
    assert_in_delta 0.5, result[:share], 0.01
    assert_in_delta 500, result[:achieved], 5
    assert_in_delta 1_000, result[:offered], 1
    assert_operator result[:share], :<, Lab::Tables::Latency::OpenLoop::LEAST_SHARE
  end

  def test_exponential_gaps_have_the_rate_and_come_again_with_the_seed
    one, other,
      third = [1, 1, 2].map { |seed| Lab::Tables::Latency::OpenLoop.new(rate: 2_000, seconds: 10, seed:).schedule }
    assert_equal one, other
    refute_equal one, third
    gaps = one.each_cons(2).map { |from, to| to - from }
    assert_in_delta 1 / 2_000.0, gaps.sum / gaps.size, 0.00002
    # Of an exponential distribution 1 - 1/e are below the mean.
    assert_in_delta 1 - (1 / Math::E), gaps.count { |gap| gap < 1 / 2_000.0 }.fdiv(gaps.size), 0.02
  end

  def test_constant_gaps
    assert_equal [0.0, 0.25, 0.5, 0.75],
      Lab::Tables::Latency::OpenLoop.new(rate: 4, seconds: 1, arrivals: "constant").schedule
  end
end
