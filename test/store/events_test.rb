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

  def test_the_lines_of_every_logger
    LOGGERS.each do |name, logger|
      alike(name) { |_, see| log_to(logger, &see) }
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

  def test_a_subscriber_that_changes_the_level
    [Logger::INFO, Logger::DEBUG].each do |level|
      alike(level) do |_, see|
        log_to(->(out) { Logger.new(out, level: level.zero? ? 1 : 0, formatter: ->(*, text) { "#{text}\n" }) }, &see)
        subscribe(:five, "cache_read.active_support") { store_logger.level = level }
      end
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

  def test_a_subscriber_that_unsubscribes_within_an_event
    KINDS.each_key do |kind|
      alike(kind) do |_, see|
        subscriber = subscribe(kind) { |*event| see.call(*event) && NOTIFICATIONS.unsubscribe(subscriber) }
        subscribe(:five, /read/) { |*event| see.call(:other, *event) }
      end
    end
  end

  # Each event has a payload of its own.
  def test_a_subscriber_that_changes_the_payload
    alike("changes") { |_, see| subscribe(:five) { |_, payload| see.call(nil, payload.dup) && payload.clear } }
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
end
