# frozen_string_literal: true
# quick

require "test_helper"
require_relative "alike_events"

# Subscribers and loggers receive from the fast path what they receive from MemoryStore, also in unusual circumstances.
class StoreEventsTest < Tiercel::TestCase
  include AlikeEvents

  def test_the_payloads_for_every_kind_of_subscriber
    KINDS.each_key do |kind|
      alike(kind) { |_, see| subscribe(kind, &see) }
    end
  end

  def test_the_payloads_for_two_subscribers
    KINDS.keys.combination(2) do |kinds|
      alike(kinds) { |_, see| kinds.each { |kind| subscribe(kind, &see) } }
    end
  end

  def test_the_payloads_for_patterns
    ["cache_read.active_support", /read/, nil, "cache_fetch_hit.active_support"].each do |pattern|
      alike(pattern) { |_, see| subscribe(:five, pattern, &see) }
    end
  end

  def test_the_arguments_of_a_subscriber_with_five_parameters
    { subscribe: Time, monotonic_subscribe: Float }.each do |method, time|
      seen = nil
      @subscribers << NOTIFICATIONS.public_send(method, "cache_read.active_support") { |*arguments| seen = arguments }
      tiercel.read("a")
      assert_equal ["cache_read.active_support", NOTIFICATIONS.instrumenter.id], seen.values_at(0, 3)
      assert_equal [time, time], seen[1, 2].map(&:class)
      assert_operator seen[1], :<=, seen[2]
    end
  end

  def test_the_lines_of_every_logger
    LOGGERS.each do |name, logger|
      alike(name) { |_, see| log_to(logger, &see) }
    end
  end

  def test_lines_and_events
    KINDS.each_key do |kind|
      alike(kind) { |_, see| subscribe(kind, &see) && log_to(LOGGERS["Logger"], &see) }
    end
  end

  def test_silence
    LOGGERS.each do |name, logger|
      alike(name) { |store, see| log_to(logger, &see) && store.silence! }
      seen = seen_by(tiercel) { |store, see| log_to(logger, &see) && store.silence! }
      assert_empty seen.reject { |_, text| text.nil? }.map(&:first).grep(/Cache/)
    end
  end

  def test_a_muted_call
    alike("mute", around: ->(store, &call) { store.mute(&call) }) { |_, see| log_to(LOGGERS["Logger"], &see) }
  end

  def test_a_silent_logger
    LOGGERS.each do |name, logger|
      silent = ->(_store, &call) { store_logger.respond_to?(:silence) ? store_logger.silence { call.call } : call.call }
      alike(name, around: silent) { |_, see| log_to(logger, &see) }
    end
  end

  # The second event of a `fetch` has its own check.
  def test_a_logger_that_leaves_the_level_debug_after_a_line
    alike("level") { |_, see| log_to(->(out) { logger_of_one_line(out) }, &see) }
  end

  def test_a_subscriber_that_changes_the_level
    [Logger::INFO, Logger::DEBUG].each do |level|
      alike(level) do |_, see|
        log_to(->(out) { Logger.new(out, level: level.zero? ? 1 : 0, formatter: ->(*, text) { "#{text}\n" }) }, &see)
        subscribe(:five, "cache_read.active_support") { store_logger.level = level }
      end
    end
  end

  def test_a_subscriber_that_removes_the_logger
    alike("no logger") do |_, see|
      log_to(LOGGERS["Logger"], &see)
      subscribe(:five, "cache_read.active_support") { ActiveSupport::Cache::Store.logger = nil }
    end
  end

  def test_a_logger_that_raises
    alike("raises") do |_, see|
      log_to(LOGGERS["Logger"], &see)
      store_logger.formatter = ->(*) { raise IOError, "full" }
      store_logger.define_singleton_method(:debug) { |*| raise IOError, "full" }
    end
  end

  def test_subscribers_that_raise
    KINDS.each_key do |kind|
      alike(kind) { |_, see| subscribe(kind) { |*event| see.call(*event) && raise(IOError, "from a subscriber") } }
    end
  end

  def test_several_subscribers_that_raise
    KINDS.keys.repeated_combination(2) do |kinds|
      alike(kinds) do |_, see|
        kinds.each { |kind| subscribe(kind) { |*event| see.call(*event) && raise(IOError, "from #{kind}") } }
      end
    end
  end

  def test_subscribers_that_raise_what_is_no_standard_error
    alike("Interrupt") { |_, see| subscribe(:five) { |*event| see.call(*event) && raise(NotImplementedError, "no") } }
  end

  def test_a_subscriber_that_subscribes_within_an_event
    KINDS.each_key do |kind|
      alike(kind) do |_, see|
        inside = nil
        subscribe(kind) do |*event|
          see.call(*event)
          inside ||= subscribe(:five) { |*late| see.call(:late, *late) }
        end
      end
    end
  end

  def test_a_subscriber_that_unsubscribes_within_an_event
    KINDS.each_key do |kind|
      alike(kind) do |_, see|
        subscriber = subscribe(kind) { |*event| see.call(*event) && NOTIFICATIONS.unsubscribe(subscriber) }
        subscribe(:five, /read/) { |*event| see.call(:other, *event) }
      end
    end
  end

  def test_a_subscriber_that_unsubscribes_by_name
    alike("by name") do |_, see|
      subscribe(:five, "cache_read.active_support") do |name, payload|
        see.call(name, payload) && NOTIFICATIONS.unsubscribe(name)
      end
    end
  end

  def test_a_subscriber_that_reads_within_an_event
    alike("reads") do |store, see|
      inside = false
      subscribe(:five) do |*event|
        see.call(*event)
        next if inside
        inside = true
        store.read("a")
        inside = false
      end
    end
  end

  # Each event has a payload of its own.
  def test_a_subscriber_that_changes_the_payload
    alike("changes") { |_, see| subscribe(:five) { |_, payload| see.call(nil, payload.dup) && payload.clear } }
  end

  def test_options_that_change_after_the_first_line
    alike("options", around: lambda do |store, &call|
      store.options[:expires_in] = store.options[:expires_in] == 60 ? 60.0 : 60
      call.call
    end) { |_, see| log_to(LOGGERS["Logger"], &see) }
  end

  def test_a_throw_out_of_a_block
    alike("throw", { "throw" => ->(store) { catch(:out) { store.fetch("t") { throw :out, 7 } } } }) do |_, see|
      subscribe(:five, &see)
    end
  end

  # The store's own tags, which MemoryStore does not have, are in the event as the caller wrote them.
  def test_tags_in_an_event
    store = tiercel
    store.write("a", 1, tags: ["t", :u])
    seen = []
    subscribe(:five, "cache_read.active_support") { |_, payload| seen << payload[:tags] }
    [["t", :u], ["t", "t"], [:"\u00fc"], ["t".encode("US-ASCII")], []].each { |tags| store.fetch("a", tags:) { 2 } }
    texts = seen.map { |tags| tags && [tags.to_a, tags.to_a.map(&:encoding).uniq, tags.inspect] }
    assert_equal [%w[t u], %w[t], %w[ü], %w[t], nil], texts.map { |text| text&.first }
    assert_equal [Encoding::UTF_8], texts.compact.flat_map { |text| text[1] }.uniq
    assert_equal '["t", "u"]', texts.first.last
    NOTIFICATIONS.unsubscribe(@subscribers.pop)
  end

  private

  def logger_of_one_line(out)
    logger = Logger.new(out, level: Logger::DEBUG)
    logger.formatter = ->(*, text) { logger.level = logger.debug? ? 1 : 0; "#{text}\n" }
    logger
  end
end
