# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/ruby_memory"
require "logger"
require "stringio"
require "timeout"

# A failing backend: the result of each call, the reports, and the permitted actions of an error handler, on the fast
# path and off it.
module StoreErrorsTests
  # Works until the test makes it fail.
  class Unsteady < RubyMemory
    # @return [Exception, nil] the error that every call raises
    attr_accessor :failure
    # @return [Integer] number of calls
    attr_reader :calls

    def self.option_names = []
    def self.build(_url, _options) = new

    CALLS = %i[get get_multi get_with_token set set_multi add compare_and_set delete delete_multi increment touch scan
               clear cleanup stats].freeze

    CALLS.each do |name|
      define_method(name) do |*arguments, &block|
        @calls = @calls.to_i + 1
        raise @failure.class, @failure.message if @failure
        super(*arguments, &block)
      end
    end

    def in_memory? = false
    def to_s = "unsteady:"
  end

  Tiercel::Backends::REGISTRY.register(:unsteady) { Unsteady }

  # The tests, for stores built with `self.class::FAST_PATH`.
  module Tests
    # The result of each call if the backend fails.
    WORTH = {
      read: [nil, ->(store) { store.read("a") }],
      fetch_without_block: [nil, ->(store) { store.fetch("a") }],
      fetch: ["made", ->(store) { store.fetch("a") { "made" } }],
      fetch_with_end: ["made", ->(store) { store.fetch("a", expires_in: 60) { "made" } }],
      write: [nil, ->(store) { store.write("a", 1) }],
      write_unless_exist: [nil, ->(store) { store.write("a", 1, unless_exist: true) }],
      write_raw: [nil, ->(store) { store.write("a", 1, raw: true) }],
      exist?: [false, ->(store) { store.exist?("a") }],
      delete: [false, ->(store) { store.delete("a") }],
      read_multi: [{}, ->(store) { store.read_multi("a", "b") }],
      fetch_multi: [{ "a" => 2, "b" => 2 }, ->(store) { store.fetch_multi("a", "b") { 2 } }],
      delete_multi: [0, ->(store) { store.delete_multi(%w[a b]) }],
      increment: [nil, ->(store) { store.increment("n") }],
      decrement: [nil, ->(store) { store.decrement("n") }],
      read_counter: [nil, ->(store) { store.read_counter("n") }],
      write_counter: [nil, ->(store) { store.write_counter("n", 1) }],
      delete_matched: [nil, ->(store) { store.delete_matched("a*") }],
      clear: [nil, ->(store) { store.clear }],
      cleanup: [nil, ->(store) { store.cleanup }],
      stats: [nil, ->(store) { store.stats }],
    }.freeze

    FAILURES = [
      Tiercel::Unavailable, Tiercel::TimedOut, Tiercel::PoolExhausted, Tiercel::Refused, Tiercel::BackendError
    ].freeze

    def build(**options)
      ActiveSupport::Cache::TiercelStore.new("unsteady:", breaker: false, **options)
    end

    def failing(**options)
      build(**options).tap { |store| store.backend.failure = Tiercel::Unavailable.new("down") }
    end

    def test_what_each_call_is_worth
      FAILURES.each do |failure|
        store = build
        store.write("a", "there")
        store.backend.failure = failure.new("down")
        WORTH.each do |name, (worth, call)|
          result = call.call(store)
          worth.nil? ? assert_nil(result, "#{name}, #{failure}") : assert_equal(worth, result, "#{name}, #{failure}")
        end
        store.backend.failure = nil
        assert_equal "there", store.read("a"), "nothing was written or deleted"
      end
    end

    def test_each_failed_call_is_reported_once
      %i[read exist? write delete read_multi delete_multi increment clear stats].each do |name|
        store = failing
        reports = capture_reports { WORTH.fetch(name).last.call(store) }
        assert_equal [Tiercel::Unavailable], reports.map { |report| report.error.class }, name.to_s
        report = reports.first
        assert_equal [true, :warning, "tiercel.active_support"], [report.handled, report.severity, report.source]
        assert_equal "unsteady:", report.context[:backend]
      end
    end

    def test_the_report_of_a_read_masks_the_key_unless_asked
      { false => "*", true => "a" }.each do |log_keys, key|
        report = capture_reports { failing(log_keys:).read("a") }.first
        assert_equal [key, :read_entry], report.context.values_at(:key, :method)
      end
    end

    def test_a_failed_call_is_logged
      log = StringIO.new
      store = failing
      with_logger(store, Logger.new(log)) { store.read("a") }
      assert_match(/WARN.*read_entry on unsteady: failed, returned nil: Tiercel::Unavailable: down/, log.string)
    end

    def test_an_error_handler
      calls = []
      error_handler = ->(method:, returning:, exception:) { calls << [method, returning, exception.class] }
      store = failing(error_handler:)
      assert_nil store.read("a")
      assert_equal false, store.delete("a")
      assert_equal({}, store.read_multi("a"))
      assert_equal [[:read_entry, nil, Tiercel::Unavailable], [:delete_entry, false, Tiercel::Unavailable],
                    [:read_multi_entries, {}, Tiercel::Unavailable]], calls
    end

    def test_an_error_handler_that_raises
      handler = ->(exception:, **) { raise IOError, exception.message }
      WORTH.each do |name, (_worth, call)|
        store = failing(error_handler: handler)
        error = assert_raises(IOError, name.to_s) { call.call(store) }
        assert_match(/down/, error.message)
      end
    end

    def test_events_of_failed_calls
      seen = []
      record = ->(name, _start, _finish, _id, payload) { seen << [name[/cache_(\w+)/, 1], payload[:hit]] }
      ActiveSupport::Notifications.subscribed(record, /cache_/) { failing.fetch("a") { 1 } }
      assert_equal [["read", false], ["generate", nil], ["write", nil]], seen
    end

    def test_other_errors_come_out
      store = build
      [NoMethodError, Timeout::Error, Interrupt, Tiercel::Error].each do |error|
        store.backend.failure = error.new("not the backend's")
        assert_raises(error) { store.read("a") }
        assert_raises(error) { store.write("a", 1) }
        assert_raises(error) { store.fetch("a") { 1 } }
      end
    end

    # @return [Array<Symbol>] calls to a backend that does not answer in time
    def tried_in_vain
      store = build
      store.backend.failure = Tiercel::TimedOut.new("late")
      capture_reports { yield store }.map { |report| report.context[:method] }
    end

    def test_a_fetch_waits_in_vain_twice
      assert_equal %i[read_entry take_lease], tried_in_vain { |store| assert_equal(1, store.fetch("a") { 1 }) }
      assert_equal %i[read_multi_entries take_leases],
                   tried_in_vain { |store| assert_equal({ "a" => 1, "b" => 1 }, store.fetch_multi("a", "b") { 1 }) }
      assert_operator tried_in_vain { |store| assert_equal(1, store.fetch("a", tags: %w[t u]) { 1 }) }.size, :<=, 2
      assert_equal %i[read_entry write_entry],
                   tried_in_vain { |store| assert_equal(1, store.fetch("a", lease: false) { 1 }) }
    end

    # A server pauses briefly: not every caller of every key computes.
    def test_a_value_is_found_where_the_read_alone_was_late
      store = build(error_handler: ->(**) { store.backend.failure = nil })
      store.write("a", "there")
      { fetch: "there", fetch_multi: { "a" => "there" } }.each do |call, found|
        store.backend.failure = Tiercel::TimedOut.new("late")
        assert_equal(found, store.public_send(call, "a") { flunk })
        assert_nil store.backend.failure
      end
    end

    def test_the_breaker_does_not_hide_from_a_handler_that_raises
      store = failing(breaker: { failures: 1, cool_down: 60 }, error_handler: ->(exception:, **) { raise exception })
      assert_raises(Tiercel::Unavailable) { store.read("a") }
      assert_raises(Tiercel::BreakerOpen) { store.read("a") }
      assert_equal 1, store.backend.calls
    end

    def test_the_local_cache_keeps_nothing_of_a_failed_write
      store = build
      store.with_local_cache do
        store.write("a", "old")
        store.backend.failure = Tiercel::Unavailable.new("down")
        assert_nil store.write("a", "new")
        refute store.write_multi({ "b" => "new" })
        store.backend.failure = nil
        assert_equal "old", store.read("a")
        assert_nil store.read("b")
        assert_equal [2, 0], store.stats.values_at(:failures, :breaker_openings)
      end
    end

    private

    def with_logger(store, logger)
      before = store.logger
      store.logger = logger
      yield
    ensure
      store.logger = before
    end
  end

  class StoreTest < Tiercel::TestCase
    include Tests
  end
end
