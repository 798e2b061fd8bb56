# frozen_string_literal: true
# quick

require "test_helper"
require "logger"
require "stringio"

class GuardTest < Tiercel::TestCase
  class FakeBackend < Tiercel::Backend
    def initialize(near: false) = @near = near
    def in_memory? = @near
    def to_s = "fake://place"
  end

  def guard(**options) = Tiercel::Guard.new(FakeBackend.new, **options)

  def unavailable(key = "k") = Tiercel::Unavailable.new("is down", backend: "fake://place", key: key)

  def test_a_refusal_says_that_the_backend_answers
    guarded = guard(breaker: { failures: 2, cool_down: 60 })
    refused = 0
    reports = capture_reports do
      3.times { guarded.call(:write_entry) { raise Tiercel::Refused, "read-only" } }
      guarded.call(:read_entry) { raise unavailable }
      guarded.call(:write_entry) { refused += 1 and raise Tiercel::Refused, "read-only" }
      guarded.call(:read_entry) { raise unavailable }
    end
    refute_predicate guarded, :open?
    assert_equal 3, reports.size
    assert_equal 1, refused
  end

  # A full server or disk refuses every write.
  def test_refusals_of_one_cause_are_reported_once_in_five_seconds_with_their_number
    now = 0.0
    output = StringIO.new
    handled = []
    full = [guard(clock: -> { now }, logger: -> { Logger.new(output) }, breaker: { cool_down: 2 }),
            guard(clock: -> { now }, error_handler: ->(exception:, **) { handled << exception }, breaker: false)]
    reports = capture_reports do
      30.times do |index|
        now += 0.25
        full.each { |guarded| assert_nil guarded.call(:write_entry, "k#{index}") { raise full_disk(index) } }
      end
    end

    assert_equal [0, 0, 19, 19], reports.map { |report| report.context[:unreported] }.sort
    assert_equal [0, 19], handled.map(&:unreported)
    assert_match(/no room.*\n.*no room.*; 19 more since/m, output.string)
    assert_equal 2, output.string.lines.size
  end

  # Like a backend that wraps a library's error about one file among many.
  def full_disk(number)
    raise Errno::ENOSPC, "/cache/#{number}/.new-#{number}ab"
  rescue SystemCallError => error
    begin
      raise Tiercel::Refused.new("no room: #{error.message}", backend: "fake://place", key: "k#{number}")
    rescue Tiercel::Refused => refused
      refused
    end
  end

  def test_a_partial_answer_is_kept_and_reported
    guarded = guard(breaker: { failures: 1 })
    result = nil
    reports = capture_reports do
      result = guarded.call(:read_multi_entries, returning: {}) { raise unavailable(nil).with_partial({ "a" => "1" }) }
    end
    assert_equal({ "a" => "1" }, result)
    assert_equal 1, reports.size
    refute_predicate guarded, :open?
  end

  def test_the_answers_of_the_other_servers_close_the_breaker
    now = 0.0
    guarded = guard(breaker: { failures: 1, cool_down: 1 }, clock: -> { now })
    capture_reports { guarded.call(:read_multi_entries) { raise unavailable } }
    assert_predicate guarded, :open?

    now += 1
    skipped = Tiercel::BreakerOpen.new("one of three").with_partial({ "a" => "1" })
    reports = capture_reports { assert_equal({ "a" => "1" }, guarded.call(:read_multi_entries) { raise skipped }) }
    assert_empty reports
    refute_predicate guarded, :open?
  end

  def late(guarded, times = 1, error = Tiercel::TimedOut)
    times.times { guarded.call(:read_entry) { raise error, "late" } }
  end

  def test_two_consecutive_timeouts
    guarded = guard(clock: -> { @now }, breaker: false)
    @now = 5.0
    late(guarded)
    refute_predicate guarded, :timing_out?
    late(guarded)
    assert_predicate guarded, :timing_out?
    refute guard.timing_out?, "another's"
    @now += 0.9
    assert_predicate guarded, :timing_out?
    @now += 0.2
    refute_predicate guarded, :timing_out?, "a moment ago"
  end

  def test_an_answer_ends_consecutive_timeouts
    [-> { :answer }, -> { raise unavailable }, -> { raise Tiercel::Refused, "full" },
     -> { raise Tiercel::TimedOut.new("of some").with_partial({}) }].each do |ending|
      guarded = guard(breaker: false)
      late(guarded, 2)
      assert_predicate guarded, :timing_out?
      guarded.call(:read_entry) { ending.call }
      refute_predicate guarded, :timing_out?
      late(guarded)
      refute_predicate guarded, :timing_out?
    end
  end

  # A backend with several servers, one or none of which still answers.
  class OfSeveral < FakeBackend
    attr_accessor :answers_elsewhere
    alias answers_elsewhere? answers_elsewhere
  end

  def test_one_of_several_servers_does_not_open_it
    backend = OfSeveral.new.tap { |several| several.answers_elsewhere = true }
    guarded = Tiercel::Guard.new(backend, breaker: { failures: 2 })
    reports = capture_reports { 4.times { guarded.call(:read_entry, "k") { raise unavailable } } }
    assert_equal 4, reports.size, "which has a breaker of its own, that says when it is enough"
    refute_predicate guarded, :open?
    backend.answers_elsewhere = false
    2.times { guarded.call(:read_entry, "k") { raise unavailable } }
    assert_predicate guarded, :open?
  end

  def test_near_backends_and_false_have_no_breaker
    assert_nil Tiercel::Guard.new(FakeBackend.new(near: true)).breaker
    without = guard(breaker: false)
    assert_nil without.breaker
    10.times { without.call(:read_entry) { raise unavailable } }
    refute_predicate without, :open?
    assert_equal 1, without.call(:read_entry) { 1 }
  end
end
