# frozen_string_literal: true
# quick

require "test_helper"
require "active_support"
require "active_support/error_reporter"
require "logger"
require "minitest/mock"
require "stringio"

# The lines that a {Tiercel::Guard} writes into the log.
class GuardLogTest < Tiercel::TestCase
  class FakeBackend < Tiercel::Backend
    def to_s = "fake://place"
  end

  def guard(**options) = Tiercel::Guard.new(FakeBackend.new, **options)

  def unavailable = Tiercel::Unavailable.new("is down", backend: "fake://place", key: "k")

  def test_no_values_are_logged
    output = StringIO.new
    guarded = guard(logger: -> { Logger.new(output) })
    guarded.call(:read_multi_entries) { raise unavailable.with_partial({ "a" => "secret", "b" => "secret" }) }
    guarded.call(:write_multi_entries) { raise unavailable.with_partial(["secret"]) }
    guarded.call(:read_multi_entries, returning: {}) { raise unavailable }
    first, second, third = output.string.lines
    assert_match(/returned 2 of the keys: .*is down/, first)
    assert_match(/returned 1 of the keys: .*is down/, second)
    assert_match(/returned {}: .*is down/, third)
    refute_match(/secret/, output.string)
  end

  # Breakers of single servers log the errors of libraries.
  def test_a_server_cannot_write_lines_of_its_own
    output = StringIO.new
    log = Tiercel::GuardLog.new("fake://ö", -> { Logger.new(output) }, -> { 0 })
    log.opened(IOError.new("\xFF\nb".b))
    assert_match(%r{fake://ö does not answer \(IOError: \uFFFD b\); calls}, output.string)
    assert_equal 1, output.string.lines.size
  end

  def test_the_log_says_when_the_breaker_opens_and_when_it_closes
    now = 0.0
    output = StringIO.new
    guarded = guard(logger: -> { Logger.new(output) }, clock: -> { now },
                    breaker: { failures: 3, cool_down: 1000 })
    3.times { guarded.call(:read_entry) { raise unavailable } }
    7.times { guarded.call(:read_entry) { flunk } }
    now = 12.5
    guarded.breaker.succeeded # like a successful probe
    2.times { guarded.call(:read_entry) { 1 } }
    lines = output.string.lines
    assert_equal 4, lines.size, output.string
    assert_match(%r{read_entry on fake://place failed}, lines[0])
    assert_match(%r{fake://place does not answer \(Tiercel::Unavailable: .*\); calls are skipped}, lines[2])
    assert_match(%r{fake://place answers again; 7 calls were skipped in 12.5 s}, lines[3])
    refute_includes output.string, '"k"'
    3.times { guarded.call(:read_entry) { raise unavailable } }
    guarded.breaker.succeeded
    guarded.call(:read_entry) { 1 }
    assert_match(/ 0 calls were skipped/, output.string.lines.last)
  end

  # As in a chroot: ActiveSupport loads a file at its first report.
  def test_a_reporter_that_cannot_be_loaded_raises_nothing
    reporter = Object.new.tap { |one| one.define_singleton_method(:report) { |*, **| raise LoadError, "no file" } }
    ActiveSupport.stub(:error_reporter, reporter) do
      output = StringIO.new
      assert_nil(guard(logger: -> { Logger.new(output) }).call(:read_entry) { raise unavailable })
      assert_match(/is down/, output.string)
    end
  end

  def test_without_a_logger_of_its_own_it_is_that_of_rails
    output = StringIO.new
    previous = Object.const_defined?(:Rails) && Object.send(:remove_const, :Rails)
    Object.const_set(:Rails, Module.new { define_singleton_method(:logger) { Logger.new(output) } })
    guard.call(:read_entry) { raise unavailable }
    assert_match(%r{Tiercel: read_entry on fake://place failed}, output.string)
  ensure
    Object.send(:remove_const, :Rails)
    Object.const_set(:Rails, previous) if previous
  end
end
