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

end
