# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/cache/tiercel_store"
require "delegate"
require "logger"
require "stringio"

# Every change of the subscriptions applies to the next call.
class StoreSubscriptionsTest < Tiercel::TestCase
  NOTIFICATIONS = ActiveSupport::Notifications
  READ = "cache_read.active_support"

  def setup
    super
    @store = ActiveSupport::Cache::TiercelStore.new("memory:")
    @seen = []
    read
  end

  def teardown
    NOTIFICATIONS.unsubscribe(@subscriber) if @subscriber
    super
  end

  def test_the_next_call_is_heard
    [READ, /cache_/, nil].each do |pattern|
      assert_empty read
      @subscriber = NOTIFICATIONS.subscribe(pattern) { |name, *| @seen << name }
      assert_equal [READ], read, pattern.inspect
      NOTIFICATIONS.unsubscribe(@subscriber)
      assert_empty read, pattern.inspect
    end
  end

  # The store keeps the answer that nobody listens to any of its events, so each event alone has to end that.
  def test_each_event_alone_is_heard
    calls = {
      "read" => -> { @store.read("a") }, "read_multi" => -> { @store.read_multi("a", "b") },
      "fetch_hit" => -> { @store.fetch("b") { 1 } }, "generate" => -> { @store.fetch("absent") { 1 } },
      "write" => -> { @store.write("b", 1) }, "write_multi" => -> { @store.write_multi("b" => 1) },
      "delete" => -> { @store.delete("a") }, "delete_multi" => -> { @store.delete_multi(["a"]) },
      "exist?" => -> { @store.exist?("a") }, "increment" => -> { @store.increment("count") },
      "decrement" => -> { @store.decrement("count") }, "cleanup" => -> { @store.cleanup },
      "invalidate_tags" => -> { @store.invalidate_tags("t") }, "delete_matched" => -> { @store.delete_matched(/a/) },
      "cas" => -> { @store.cas("b") { 2 } }, "cas_multi" => -> { @store.cas_multi("b") { |values| values } }
    }
    @store.write("b", 1)
    calls.each do |operation, call|
      @store.delete("absent")
      event = "cache_#{operation}.active_support"
      NOTIFICATIONS.subscribed(->(name, *) { @seen << name }, event, &call)
      assert_includes @seen, event
      @seen.clear
      call.call
      assert_empty @seen
    end
  end

  # All ways to subscribe and to unsubscribe, past Rails' module and from another thread.
  def test_every_way_to_change_the_subscriptions
    notifier = NOTIFICATIONS.notifier
    hear = ->(name, *) { @seen << name }
    subscribe = { "notifier" => -> { notifier.subscribe(READ, hear) },
                  "monotonic" => -> { NOTIFICATIONS.monotonic_subscribe(READ, hear) },
                  "thread" => -> { Thread.new { notifier.subscribe(/read/, hear) }.value } }
    unsubscribe = { "notifier" => -> { notifier.unsubscribe(@subscriber) },
                    "name" => -> { NOTIFICATIONS.unsubscribe(READ) },
                    "thread" => -> { Thread.new { notifier.unsubscribe(@subscriber) }.join } }
    subscribe.to_a.product(unsubscribe.to_a) do |(one, start), (other, stop)|
      assert_empty read, "#{one}, #{other}"
      @subscriber = start.call
      assert_equal [READ], read, "#{one}, #{other}"
      stop.call
      assert_empty read, "#{one}, #{other}"
    end
  end

  # The store sees changes through Rails' own `subscribe` only.
  def test_a_notifier_with_a_subscribe_of_its_own
    before = NOTIFICATIONS.notifier
    heard = nil
    listen = Module.new do
      define_method(:subscribe) { |*| heard = true }
      define_method(:all_listeners_for) { |name| heard && name == READ ? [:somebody] : [] }
      define_method(:build_handle) { |*| ActiveSupport::Notifications::Fanout::NullHandle }
    end
    classes = [NOTIFICATIONS::Fanout, Class.new(NOTIFICATIONS::Fanout)]
    classes.last.prepend(listen)
    [classes.first.new.extend(listen), classes.last.new].each do |notifier|
      heard = nil
      NOTIFICATIONS.notifier = notifier
      refute @store.send(:heard?, READ)
      notifier.subscribe(READ)
      assert @store.send(:heard?, READ)
    end
  ensure
    NOTIFICATIONS.notifier = before
  end

  # Between a caller's question and its answer another thread may subscribe.
  def test_a_subscription_during_the_question
    names = [READ].each
    names.define_singleton_method(:all?) do |&block|
      super(&block).tap { @subscriber ||= NOTIFICATIONS.subscribe(READ) {} }
    end
    subscriptions = Tiercel::Store::Subscriptions.new(names)
    refute subscriptions.none(NOTIFICATIONS.notifier, subscriptions.answer)
    assert_nil subscriptions.answer.unheard
  ensure
    NOTIFICATIONS.unsubscribe(names.instance_variable_get(:@subscriber))
  end

  # Rails lets an application replace the queue; Rails' own `instrument` asks it only whether it listens.
  def test_a_queue_of_the_applications_own
    own = Class.new(SimpleDelegator) { define_method(:respond_to?) { |*| false } }
    before = NOTIFICATIONS.notifier
    NOTIFICATIONS.notifier = own.new(before)
    assert_empty read
    @subscriber = before.subscribe(READ) { |name, *| @seen << name }
    assert_equal [READ], read
  ensure
    NOTIFICATIONS.notifier = before
  end

  def test_a_subscription_made_by_a_block_of_fetch
    @store.fetch("absent") do
      @subscriber = NOTIFICATIONS.subscribe("cache_write.active_support") { |name, *| @seen << name }
      1
    end
    assert_equal ["cache_write.active_support"], @seen
  end

  def test_the_next_call_is_logged
    stores = ActiveSupport::Cache::Store
    before = stores.logger
    # Until Rails 8.2, a store's own logger is the logger of all stores.
    others = ActiveSupport.version.segments.first(2) == [8, 2] ? [] : [ActiveSupport::Cache::NullStore.new]
    [stores, *others, @store].each do |owner|
      owner.logger = Logger.new(lines = StringIO.new)
      read
      assert_match(/Cache read: a/, lines.string, owner.inspect)
      lines.truncate(0)
      owner.logger = nil
      read
      assert_empty lines.string, owner.inspect
    end
  ensure
    stores.logger = before
  end

  # Rails 8.2 declares the logger in another way than 8.1, and each store may have its own.
  def test_a_store_with_a_logger_of_its_own
    lines = StringIO.new
    logger = Logger.new(lines)
    store = Class.new(ActiveSupport::Cache::TiercelStore) { define_method(:logger) { logger } }
    store.new("memory:").read("a")
    assert_match(/Cache read: a/, lines.string)
  end

  # A value may take long to decode.
  def test_a_subscription_that_is_made_while_a_fetch_reads
    hit = "cache_fetch_hit.active_support"
    subscribe = -> { @subscriber = NOTIFICATIONS.subscribe(hit) { |name, *| @seen << name } }
    slow = Class.new { define_method(:marshal_dump) { 1 } }
    slow.define_method(:marshal_load) { |_| subscribe.call }
    self.class.const_set(:Slow, slow)
    @store.write("slow", slow.new)
    @seen.clear
    @store.fetch("slow") { flunk }
    assert_equal [hit], @seen
  ensure
    self.class.send(:remove_const, :Slow)
  end

  # The event has the tags as they are stored.
  def test_tags_in_an_event
    @store.write("a", 1, tags: ["t", :u])
    seen = []
    @subscriber = NOTIFICATIONS.subscribe(READ) { |*, payload| seen << payload[:tags] }
    [["t", :u], ["t", "t"], [:"\u00fc"], ["t".encode("US-ASCII")], []].each { |tags| @store.fetch("a", tags:) { 2 } }
    assert_equal [%w[t u], %w[t], %w[ü], %w[t], nil], seen.map { |tags| tags&.to_a }
    assert_equal [Encoding::UTF_8], seen.compact.flat_map { |tags| tags.to_a.map(&:encoding) }.uniq
    assert_equal '["t", "u"]', seen.first.inspect
  end

  private

  def read
    @seen.clear
    @store.read("a")
    @seen.dup
  end
end
