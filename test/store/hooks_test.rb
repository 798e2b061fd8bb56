# frozen_string_literal: true

require "test_helper"
require "active_support/cache/tiercel_store"
require "tiercel/backends/memory_lru"
require "active_support/cache/strategy/local_cache"
require_relative "recorded_calls"

# Other gems patch methods that the fast path bypasses. Each of their hooks still sees every call. Tests whose effects
# cannot be undone run in a child process.
class StoreHooksTest < Tiercel::TestCase
  include RecordedCalls

  # --- the class of Rails ---

  def test_a_module_prepended_before_the_store_is_built
    in_child do
      Store.prepend(recording_module(PUBLIC_CALLS))
      assert_sees_every_call(TiercelStore.new("memory:"))
    end
  end

  def test_methods_of_rails_that_are_replaced
    in_child do
      PUBLIC_CALLS.each { |name| replace(Store, name) }
      assert_sees_every_call(TiercelStore.new("memory:"))
    end
  end

  def test_private_methods_of_rails_that_are_replaced
    names = %i[instrument instrument_multi normalize_key normalize_version merged_options namespace_key expanded_key
               handle_expired_entry get_entry_value save_block_result_to_cache]
    names -= %i[expanded_key] if Tiercel::Store::Events::RAILS_8_2 # not called for String names
    names.each do |name|
      in_child do
        replace(Store, name)
        assert_sees_as_much_as_without
      end
    end
  end

  # --- notifications ---

  def test_instrument_that_is_replaced
    in_child do
      replace(ActiveSupport::Notifications.singleton_class, :instrument)
      assert_sees_as_much_as_without
    end
  end

  def test_an_instrumenter_that_is_patched
    in_child do
      ActiveSupport::Notifications::Instrumenter.prepend(recording_module(%i[instrument]))
      ActiveSupport::Notifications.subscribe(/cache_/) { |*| nil }
      assert_sees_as_much_as_without
    end
  end

  def test_another_notifier
    in_child do
      before = TiercelStore.new("memory:")
      notifier = ActiveSupport::Notifications::Fanout.new
      notifier.subscribe("cache_read.active_support") { |name, *| @seen << name }
      ActiveSupport::Notifications.notifier = notifier
      before.read("a")
      TiercelStore.new("memory:").read("a")
      assert_equal ["cache_read.active_support"] * 2, @seen
    end
  end

  # --- subclasses ---

  def test_subclasses_that_override_private_methods
    (%i[read_entry write_entry delete_entry read_serialized_entry write_serialized_entry serialize_entry
        deserialize_entry read_multi_entries write_multi_entries] +
     %i[normalize_key normalize_version merged_options instrument get_entry_value options]).each do |name|
      @seen.clear
      subclass = recording_subclass([name])
      assert_sees_as_much_as_without(subclass.new("memory:"), subclass.new("memory:", fast_path: false))
    end
  end

  def test_subclasses_that_override_public_methods
    store = recording_subclass(PUBLIC_CALLS).new("memory:")
    assert_sees_every_call(store)
  end

  def test_a_fetch_writes_through_write
    store = recording_subclass(%i[write write_multi]).new("memory:")
    store.fetch("a") { 1 }
    store.fetch("b", expires_in: 10) { 1 }
    store.fetch_multi("c", "d") { 1 }
    assert_equal %i[write write write_multi], @seen
  end

  def test_a_subclass_that_changes_names_and_values
    subclass = Class.new(TiercelStore) do
      private

      def normalize_key(name, options = nil) = "changed:#{super}"
      def read_entry(key, **options) = super&.then { |entry| ActiveSupport::Cache::Entry.new("#{entry.value}!") }
    end
    store = subclass.new("memory:")
    store.write("a", "value")
    assert_equal ["value!", "value!"], [store.read("a"), store.fetch("a") { "absent" }]
    assert_equal ["changed:a"], store.backend.scan.to_a
    assert_equal subclass.name.to_s, store.class.name.to_s
  end

  def test_a_subclass_of_a_subclass
    store = Class.new(recording_subclass(%i[read_entry])).new("memory:")
    store.read("a")
    assert_equal %i[read_entry], @seen
  end

  def test_a_module_prepended_to_the_class
    in_child do
      store = TiercelStore.new("memory:")
      TiercelStore.prepend(recording_module(%i[read_entry write_entry]))
      store.write("a", 1)
      store.read("a")
      store.fetch("a") { 2 }
      assert_equal %i[write_entry read_entry read_entry], @seen
    end
  end

  # --- one store ---

  def test_singleton_methods
    store = TiercelStore.new("memory:")
    exercise(store)
    seen = @seen
    store.define_singleton_method(:read_entry) { |key, **options| seen << key; super(key, **options) }
    store.read("a")
    store.fetch("b") { 1 }
    assert_equal %w[a b], @seen
  end

  def test_singleton_methods_in_the_way_of_public_calls
    store = TiercelStore.new("memory:")
    seen = @seen
    store.define_singleton_method(:write) { |name, *rest, **options| seen << name; super(name, *rest, **options) }
    store.fetch("a") { 1 }
    store.write("b", 1)
    assert_equal %w[a b], @seen
    assert_equal 1, store.read("a")
  end

  def test_a_module_that_a_store_is_extended_with
    store = TiercelStore.new("memory:")
    store.extend(recording_module(%i[read_entry]))
    store.read("a")
    store.fetch("a") { 1 }
    assert_equal %i[read_entry read_entry], @seen
  end

  def test_stubs_that_come_and_go
    store = TiercelStore.new("memory:")
    store.write("a", 1)
    store.singleton_class.define_method(:read_entry) { |*, **| ActiveSupport::Cache::Entry.new("stubbed") }
    assert_equal "stubbed", store.read("a")
    store.singleton_class.remove_method(:read_entry)
    assert_equal 1, store.read("a")
  end

  # --- the request-local cache ---

  def test_the_middleware_of_the_local_cache
    begin
      require "active_support/cache/strategy/local_cache_middleware"
    rescue LoadError
      skip "the middleware needs rack"
    end
    backend = Class.new(Tiercel::Backends::MemoryLRU) { def near? = false }.new
    calls = count_calls(backend, :get)
    store = store_over(backend)
    application = lambda do |_environment|
      3.times { store.read("a") }
      3.times { store.fetch("b") { 1 } }
      [200, {}, []]
    end
    _status, _headers, body = store.middleware.new(application).call({})
    body.close
    assert_equal %w[a b], calls
    2.times { store.read("a") }
    assert_equal %w[a b a a], calls, "after the request each read asks the backend"
  end

  def test_a_store_that_was_given_a_local_cache
    store = TiercelStore.new("memory:")
    store.extend(ActiveSupport::Cache::Strategy::LocalCache)
    store.with_local_cache do
      store.write("a", 1)
      store.backend.delete("a")
      assert_equal 1, store.read("a")
      assert_equal 1, store.fetch("a") { 2 }
      assert_equal({ "a" => 1 }, store.read_multi("a"))
    end
    assert_nil store.read("a")
  end

  # --- switched off ---

  def test_fast_path_false
    store = TiercelStore.new("memory:", fast_path: false)
    in_child do
      replace(Store, :merged_options)
      exercise(store)
      assert_operator @seen.size, :>=, PUBLIC_CALLS.size
    end
  end

  def test_untouched_it_goes_around_rails
    store = TiercelStore.new("memory:")
    passed = rails_methods { exercise(store) }
    assert_empty passed - %i[logger options merged_options initialize], "else these tests prove nothing"
    refute_includes passed, :instrument
  end

  def test_a_coder_of_the_callers_own_falls_back_to_rails_methods_and_the_log_says_so_once
    log = StringIO.new
    store = TiercelStore.new("memory:", coder: Marshal)
    store.logger = Logger.new(log, level: Logger::INFO)
    assert_includes(rails_methods { store.fetch("a") { 1 } }, :save_block_result_to_cache)
    store.fetch_multi("a", "b") { 2 }
    assert_equal 1, log.string.scan("fetch and fetch_multi take no leases").size
    assert_match(/coder: of its own/, log.string)
  ensure
    store.logger = nil
  end

  def test_the_log_names_what_is_patched
    log = StringIO.new
    store = recording_subclass(%i[write_entry]).new("memory:")
    store.logger = Logger.new(log, level: Logger::INFO)
    2.times { |time| store.fetch(time.to_s) { 1 } }
    assert_equal 1, log.string.scan("write_entry are patched").size
  ensure
    store.logger = nil
  end

  # Development must run the same code as production.
  def test_subscribers_and_a_debug_logger_change_nothing_but_that_events_are_sent
    with_listeners do
      passed = rails_methods { exercise(TiercelStore.new("memory:")) }
      assert_includes passed, :instrument
      assert_empty passed & [*PUBLIC_CALLS, :save_block_result_to_cache]
    end
  end

  private

  def with_listeners
    subscriber = ActiveSupport::Notifications.subscribe(/\Acache_/) { |*| nil }
    logger = Store.logger
    Store.logger = Logger.new(File::NULL, level: Logger::DEBUG)
    yield
  ensure
    Store.logger = logger
    ActiveSupport::Notifications.unsubscribe(subscriber)
  end

  # @return [Array<Symbol>] the methods of Rails' store that were called
  def rails_methods
    rails = Store.instance_method(:initialize).source_location.first
    passed = []
    TracePoint.new(:call) { |call| passed << call.method_id if call.path == rails }.enable { yield }
    passed
  end
end
