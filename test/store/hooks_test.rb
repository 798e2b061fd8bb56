# frozen_string_literal: true

require "test_helper"
require "active_support/cache/tiercel_store"

# Other code patches Rails' methods, overrides hooks in a subclass, or stubs a method of a store. Then Rails' own
# methods serve the calls, over the hooks. Tests whose effects cannot be undone run in a child process.
class StoreHooksTest < Tiercel::TestCase
  Store = ActiveSupport::Cache::Store
  TiercelStore = ActiveSupport::Cache::TiercelStore
  HOOKS = %i[read_entry write_entry delete_entry read_serialized_entry write_serialized_entry serialize_entry
             deserialize_entry read_multi_entries write_multi_entries normalize_key normalize_version merged_options
             instrument get_entry_value].freeze

  def setup
    super
    @seen = []
  end

  def test_subclasses_that_override_hooks
    HOOKS.each do |name|
      @seen.clear
      call_all(recording(name).new("memory:"))
      assert_includes @seen, name
    end
  end

  def test_a_fetch_writes_through_write
    store = recording(:write, :write_multi).new("memory:")
    store.fetch("a") { 1 }
    store.fetch_multi("c", "d") { 1 }
    assert_equal %i[write write_multi], @seen
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
  end

  def test_a_stub_of_one_store
    store = TiercelStore.new("memory:").dup
    store.define_singleton_method(:read_entry) { |*, **| ActiveSupport::Cache::Entry.new("stubbed") }
    assert_equal %w[stubbed stubbed], [store.read("a"), store.fetch("a") { 1 }]
    store.singleton_class.remove_method(:read_entry)
    assert_nil store.read("a")
  end

  def test_a_method_of_rails_that_is_replaced_before_the_store_is_built
    in_child do
      seen = @seen
      Store.prepend(Module.new { define_method(:read) { |*arguments| seen << :read; super(*arguments) } })
      TiercelStore.new("memory:").read("a")
      assert_equal [:read], @seen
    end
  end

  # Agents patch Rails while the application boots, after the store is built. In a process without railties, because
  # their hooks need an application.
  def test_a_method_of_rails_that_is_replaced_during_boot
    assert_equal "[]\n[:event]\n", run_ruby(<<~'RUBY')
      require "active_support/cache/tiercel_store"
      store = Tiercel.new("memory:")
      seen = []
      ActiveSupport::Cache::Store.prepend(Module.new do
        define_method(:instrument) { |*arguments, &block| seen << :event; super(*arguments, &block) }
      end)
      store.read("a")
      p seen
      ActiveSupport.run_load_hooks(:after_initialize, Object.new)
      store.read("a")
      p seen
    RUBY
  end

  def test_what_is_lost_is_logged_once
    lines = StringIO.new
    store = recording(:normalize_key).new("memory:")
    store.singleton_class.define_method(:logger) { Logger.new(lines) }
    2.times { store.fetch("a") { 1 } }
    assert_equal 1, lines.string.scan(/normalize_key are patched, so Rails' own methods run/).size
  end

  def test_another_notifier
    in_child do
      before = TiercelStore.new("memory:")
      notifier = ActiveSupport::Notifications::Fanout.new
      notifier.subscribe("cache_read.active_support") { |name, *| @seen << name }
      ActiveSupport::Notifications.notifier = notifier
      [before, TiercelStore.new("memory:")].each { |store| store.read("a") }
      assert_equal ["cache_read.active_support"] * 2, @seen
    end
  end

  def test_notifications_that_are_replaced
    in_child do
      seen = @seen
      ActiveSupport::Notifications.singleton_class.prepend(Module.new do
        define_method(:instrument) { |name, *rest, &block| seen << name; super(name, *rest, &block) }
      end)
      TiercelStore.new("memory:").read("a")
      assert_equal ["cache_read.active_support"], @seen
    end
  end

  # Neither requiring the library nor building and using a store changes a class of Rails or of Ruby.
  def test_no_class_of_others_is_patched
    script = <<~'RUBY'
      require "active_support"
      require "active_support/cache"
      require "active_support/notifications"
      require "active_support/core_ext/object/blank"
      require "active_support/duration"
      others = [ActiveSupport::Cache::Store, ActiveSupport::Cache::WriteOptions, ActiveSupport::Cache::Entry,
                ActiveSupport::Notifications, *ActiveSupport::Notifications.constants.filter_map { |name|
                  mod = ActiveSupport::Notifications.const_get(name) and (mod if Module === mod) },
                ActiveSupport::Notifications::Fanout::Subscribers::Timed, String, Hash, Array, Kernel]
      methods = -> { others.flat_map { |mod| [mod, mod.singleton_class] }.to_h { |mod|
        own = (mod.instance_methods(false) + mod.private_instance_methods(false)).sort
        [mod, [mod.ancestors - Class.ancestors, own.map { |name|
          [name, mod.instance_method(name).owner, mod.instance_method(name).source_location] }]] } }
      before = methods.call
      require "active_support/cache/tiercel_store"
      store = Tiercel.new("memory:")
      store.fetch("a") { 1 }
      changed = methods.call.select { |mod, state| state != before[mod] }.keys
      puts changed.inspect
    RUBY
    assert_equal "[]\n", run_ruby(script)
  end

  private

  def call_all(store)
    store.write("a", 1)
    [store.read("a"), store.fetch("a") { 2 }, store.read_multi("a"), store.delete("a")]
    store.write_multi({ "b" => 1 })
  end

  def recording(*names)
    seen = @seen
    Class.new(TiercelStore) do
      names.each do |name|
        define_method(name) do |*arguments, **options, &block|
          seen << name
          options.empty? ? super(*arguments, &block) : super(*arguments, **options, &block)
        end
      end
    end
  end

  # @return [String] what the script prints
  def run_ruby(script)
    lib = File.expand_path("../../lib", __dir__)
    IO.popen([RbConfig.ruby, "-I", lib, "-e", script], err: %i[child out], &:read)
  end

  def in_child
    fork_and_wait(1) do
      yield
      nil
    end
  end
end
