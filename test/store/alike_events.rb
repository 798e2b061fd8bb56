# frozen_string_literal: true

require "active_support/broadcast_logger"
require "active_support/cache/tiercel_store"
require "active_support/logger"
require "active_support/tagged_logging"
require "stringio"

# For test classes: compares the events and log lines of a store with those of MemoryStore.
module AlikeEvents
  NOTIFICATIONS = ActiveSupport::Notifications
  Record = Struct.new(:cache_key, :cache_version)
  CALLS = {
    "write" => ->(store) { store.write("a", 1) },
    "write with an end" => ->(store) { store.write("b", 2, expires_in: 60) },
    "read" => ->(store) { store.read("a") },
    "read of a Symbol" => ->(store) { store.read(:a) },
    "read of an absent Array" => ->(store) { store.read(["x", 1]) },
    "read with options" => ->(store) { store.read("a", expires_in: 1.5, namespace: "n") },
    "read of binary bytes" => ->(store) { store.read("\xFF".b) },
    "fetch, a hit" => ->(store) { store.fetch("a") { raise "a miss" } },
    "fetch with an end, a hit" => ->(store) { store.fetch("a", expires_in: 60) { raise "a miss" } },
    "fetch with an option of the store's, a hit" => ->(store) { store.fetch("a", skip_nil: true) { raise "a miss" } },
    "fetch of a record, a miss and a hit" => lambda do |store|
      Array.new(2) { store.fetch(Record.new("r", "1"), race_condition_ttl: 1, expires_in: 5) { 3 } }
    end,
    "fetch, a miss that raises" => ->(store) { store.fetch("absent") { raise IOError, "from the block" } },
    "exist?" => ->(store) { store.exist?("a") },
    "read_multi" => ->(store) { store.read_multi("a", "absent", "b") },
    "read_multi of an Array" => ->(store) { store.read_multi("a", ["b"]) },
    "write_multi" => ->(store) { store.write_multi({ "c" => 1, "d" => 2 }) && nil },
    "delete" => ->(store) { store.delete("a") },
  }.freeze

  # Receives the start and the finish of an event.
  class Evented
    def initialize(&block) = @block = block
    def start(name, _id, payload) = @block.call(:start, name, payload)
    def finish(name, _id, payload) = @block.call(:finish, name, payload)
  end

  # Is silent for reads.
  class Silenced < Evented
    def silenced?(name) = name.start_with?("cache_read")
  end

  # Subscribes in every way that ActiveSupport supports. The block receives the name and the payload.
  KINDS = {
    five: ->(pattern, &see) { NOTIFICATIONS.subscribe(pattern) { |name, _, _, _, payload| see.call(name, payload) } },
    all: ->(pattern, &see) { NOTIFICATIONS.subscribe(pattern) { |*arguments| see.call(arguments[0], arguments[4]) } },
    monotonic: lambda do |pattern, &see|
      NOTIFICATIONS.monotonic_subscribe(pattern) { |name, _, _, _, payload| see.call(name, payload) }
    end,
    event: ->(pattern, &see) { NOTIFICATIONS.subscribe(pattern) { |event| see.call(event.name, event.payload) } },
    evented: lambda do |pattern, &see|
      NOTIFICATIONS.subscribe(pattern, Evented.new { |what, name, payload| see.call("#{what} #{name}", payload) })
    end,
    silenced: lambda do |pattern, &see|
      NOTIFICATIONS.subscribe(pattern, Silenced.new { |what, name, payload| see.call("#{what} #{name}", payload) })
    end,
  }.freeze

  LOGGERS = {
    "Logger" => ->(out) { Logger.new(out, level: Logger::DEBUG, formatter: ->(*, text) { "#{text}\n" }) },
    "ActiveSupport::Logger" => ->(out) { ActiveSupport::Logger.new(out, level: Logger::DEBUG) },
    "TaggedLogging" => lambda do |out|
      ActiveSupport::TaggedLogging.new(ActiveSupport::Logger.new(out, level: Logger::DEBUG)).tagged("tag")
    end,
    "BroadcastLogger" => lambda do |out|
      levels = [Logger::INFO, Logger::DEBUG]
      ActiveSupport::BroadcastLogger.new(*levels.map { |level| ActiveSupport::Logger.new(out, level:) })
    end,
  }.freeze

  def setup
    @subscribers = []
    @logger = ActiveSupport::Cache::Store.logger
    ActiveSupport::Cache::Store.logger = nil
  end

  def teardown
    @subscribers.each { |subscriber| NOTIFICATIONS.unsubscribe(subscriber) }
    ActiveSupport::Cache::Store.logger = @logger
  end

  private

  def tiercel(**options) = ActiveSupport::Cache::TiercelStore.new("memory:", **equal_options, **options)

  # MemoryStore's own defaults.
  def equal_options = { compress: false, compress_threshold: 1024 }

  def store_logger = ActiveSupport::Cache::Store.logger

  def subscribe(kind, pattern = /\Acache_/, &)
    subscriber = KINDS.fetch(kind).call(pattern, &)
    @subscribers << subscriber
    subscriber
  end

  def log_to(logger, &see)
    ActiveSupport::Cache::Store.logger = logger.call(LineIO.new(see))
  end

  # Passes each line on at once, so that the order of lines and events is visible.
  class LineIO < StringIO
    def initialize(see)
      super()
      @see = see
    end

    def write(text) = @see.call(text) && text.bytesize
  end

  # Compares what is seen of the calls with what is seen of the same calls of MemoryStore.
  #
  # @yieldparam store [ActiveSupport::Cache::Store]
  # @yieldparam see [Proc] records its arguments
  def alike(circumstance, calls = CALLS, around: ->(_store, &call) { call.call }, &)
    expected, seen = [ActiveSupport::Cache::MemoryStore.new(**equal_options), tiercel].map do |store|
      seen_by(store, calls, around, &)
    end
    refute_empty expected
    expected.zip(seen) { |one, other| assert_equal one, other, circumstance.inspect }
    assert_equal expected.size, seen.size, circumstance.inspect
  end

  # @return [Array] what listeners saw, and the result of each call
  def seen_by(store, calls = CALLS, around = ->(_store, &call) { call.call })
    seen = []
    yield store, ->(*what) { seen << what.map { |value| plain(value) } }
    calls.each do |name, call|
      seen << [name, around.call(store) { call.call(store) }]
    rescue StandardError, NotImplementedError => error
      seen << [name, error.class, error.message, error.cause&.message]
    end
    seen
  ensure
    teardown
    setup
  end

  # Replaces what differs between any two stores or runs.
  def plain(value)
    return value unless value.is_a?(Hash)
    value.to_a.map do |key, one|
      one = one.sub("TiercelStore", "MemoryStore") if key == :store
      [key, one.is_a?(Exception) ? one.class : one, (one.encoding if one.is_a?(String))]
    end
  end
end
