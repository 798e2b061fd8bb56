# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/cache/tiercel_store"
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

  def test_a_subscription_for_one_block
    2.times do
      NOTIFICATIONS.subscribed(->(name, *) { @seen << name }, READ) { assert_equal [READ], read }
      assert_empty read
    end
  end

  def test_subscribers_removed_by_the_events_name
    @subscriber = NOTIFICATIONS.subscribe(READ) { |name, *| @seen << name }
    assert_equal [READ], read
    NOTIFICATIONS.unsubscribe(READ)
    assert_empty read
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
    [stores, ActiveSupport::Cache::NullStore.new, @store].each do |owner|
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

  # In a process of its own, because the methods of Rails' class stay replaced.
  def test_other_code_that_renames_the_method
    script = <<~RUBY
      require "logger"
      require "active_support/cache/tiercel_store"
      stores = ActiveSupport::Cache::Store
      [stores, stores.singleton_class].each do |owner|
        owner.class_eval do
          alias_method :renamed=, :logger=
          remove_method :logger=
          def logger=(logger)
            self.renamed = logger
          end
        end
      end
      store = ActiveSupport::Cache.lookup_store(:tiercel_store, "memory:")
      [stores, ActiveSupport::Cache.lookup_store(:memory_store)].each do |owner|
        owner.logger = nil
        store.read("a")
        owner.logger = Logger.new($stdout, formatter: ->(*, text) { text[/Cache read: a/].to_s })
        store.read("a")
      end
    RUBY
    assert_equal "Cache read: a" * 2, run_script("-w", script)
  end

  # A store may have a logger of its own.
  def test_the_logger_of_one_store
    own = Logger.new(lines = StringIO.new)
    @store.define_singleton_method(:logger) { own }
    read
    assert_match(/Cache read: a/, lines.string)
    @store.singleton_class.remove_method(:logger)
    lines.truncate(0)
    read
    assert_empty lines.string
  end

  # Rails 8.2 declares the logger in another way than 8.1, and each store may have its own.
  def test_a_store_with_a_logger_of_its_own
    lines = StringIO.new
    logger = Logger.new(lines)
    store = Class.new(ActiveSupport::Cache::TiercelStore) { define_method(:logger) { logger } }
    store.new("memory:").read("a")
    assert_match(/Cache read: a/, lines.string)
  end

  # Rails 8.2 has a notifier in each Ractor. In a process of its own, which has more than one Ractor from then on.
  def test_a_notifier_of_another_ractor
    script = <<~RUBY
      require "active_support/cache/tiercel_store"
      Warning[:experimental] = false
      ractor = Ractor.new do
        notifier = ActiveSupport::Notifications::Fanout.allocate
        maps = %i[@all_listeners_for @groups_for @silenceable_groups_for]
        maps.each { |map| notifier.instance_variable_set(map, {}) }
        notifier.clear_cache
        "cleared"
      end
      puts ractor.respond_to?(:value) ? ractor.value : ractor.take
    RUBY
    assert_equal "cleared\n", run_script(script)
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

  private

  # @return [String] its output, with warnings
  def run_script(*options, script)
    lib = File.expand_path("../../lib", __dir__)
    IO.popen([RbConfig.ruby, "-I", lib, *options, "-e", script], err: %i[child out], &:read)
  end

  def read
    @seen.clear
    @store.read("a")
    @seen.dup
  end

  def subscribe_once
    @subscriber ||= NOTIFICATIONS.subscribe(READ) { |name, *| @seen << name }
  end

end
