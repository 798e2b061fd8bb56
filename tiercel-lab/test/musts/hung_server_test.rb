# frozen_string_literal: true

require_relative "../support/lab_case"
require "active_support/cache/tiercel_store"

class HungServerTest < LabCase
  HungServer = Lab::Tables::Musts::HungServer
  Verdict = HungServer::Verdict

  %i[memcached redis].each do |kind|
    define_method(:"test_calls_of_a_hung_#{kind}_take_the_budget") do
      times = HungServer.new(kind).calls
      assert_equal HungServer::OPERATIONS.keys, times.keys
      shortest = times.values.flatten.min
      assert_operator shortest, :>, 0.2, "it was asked"
      assert_operator times.values.flatten.min, :<, 5 * Verdict::BUDGET_SECONDS, "it was not waited for"
    end

    define_method(:"test_calls_of_an_open_breaker_for_#{kind}_ask_nobody") do
      times = HungServer.new(kind).open_calls
      assert_equal [HungServer::OPEN_CALLS], times.values.map(&:size).uniq
      # Callers of the hung server wait for the whole budget.
      times.each { |name, list| assert_operator Verdict.quantile(list, 0.5), :<, HungServer::ASKED_SECONDS, name }
    end
  end

  def test_the_budget_is_judged_by_the_longest_call
    state, words = Verdict.within_budget({ read: [0.25, 0.251], write: [0.252, 0.26] })
    assert_equal [:holds, "median 252.0 ms, longest 260.0 ms (write), 4 calls"], [state, words]
    assert_equal :undecided, Verdict.within_budget({ read: [0.25, 0.25, 0.4] }).first
    assert_equal :fails, Verdict.within_budget({ read: [0.5, 0.5, 0.25] }).first
  end

  def test_the_open_breaker_is_judged_by_the_99th_percentile
    state, words = Verdict.when_open({ read: [1e-6] * 199 + [1.0], write: [2e-6] * 200 })
    assert_equal :holds, state
    assert_includes words, "read 1.0/1.0/1000000.0, write 2.0/2.0/2.0"
    assert_equal :undecided, Verdict.when_open({ read: [1e-6] * 60 + [1e-3] * 40 }).first
    assert_equal :fails, Verdict.when_open({ read: [6e-5] * 100 }).first
  end

  def test_what_cannot_be_measured_is_said
    raising = Lab::Tables::Musts::Target::Limit.new(id: "t", text: "t",
                                     measuring: -> { raise Lab::Servers::NotInstalled, "no memcached" })
    assert_equal [:cannot_run, "no memcached"], [raising.measure.state, raising.measure.note]
    held = Lab::Tables::Musts::Target::Limit.new(id: "t", text: "t", measuring: -> { [:holds, "1 ms"] })
    assert_equal [:holds, "1 ms"], [held.measure.state, held.measure.note]
  end
end
