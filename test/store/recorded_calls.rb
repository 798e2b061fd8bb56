# frozen_string_literal: true

# Modules and methods that record calls, and the calls to record.
module RecordedCalls
  Store = ActiveSupport::Cache::Store
  TiercelStore = ActiveSupport::Cache::TiercelStore

  # The calls of {#exercise} as a hook on each public method sees them.
  PUBLIC_CALLS = %i[write read fetch exist? write_multi read_multi fetch_multi delete].freeze

  def setup
    super
    @seen = []
  end

  private

  # A store that has already used the fast path.
  def used_store
    TiercelStore.new("memory:").tap do |store|
      exercise(store)
      store.clear
    end
  end

  # All calls that the fast path serves, each at least once, with hits and misses.
  def exercise(store)
    store.write("a", "value")
    store.read("a")
    store.fetch("a") { "absent" }
    store.fetch("b") { "made" }
    store.exist?("a")
    store.write_multi({ "c" => 1 })
    store.read_multi("a", "c")
    store.fetch_multi("c", "d") { 2 }
    store.delete("a")
  end

  def assert_sees_every_call(store)
    @seen.clear
    exercise(store)
    assert_equal [], PUBLIC_CALLS - @seen
    assert_operator @seen.count(:fetch), :>=, 2
    assert_operator @seen.count(:write), :>=, 2, "the write of the fetch that missed"
  end

  # Compares a store on the fast path with one that is not.
  def assert_sees_as_much_as_without(fast = TiercelStore.new("memory:"),
                                     plain = TiercelStore.new("memory:", fast_path: false))
    sightings = [plain, fast].map do |store|
      @seen.clear
      exercise(store)
      @seen.dup
    end
    refute_empty sightings.first
    assert_equal sightings.first, sightings.last
  end

  def recording_module(names)
    seen = @seen
    Module.new do
      names.each do |name|
        define_method(name) { |*arguments, **options, &block| seen << name; super(*arguments, **options, &block) }
      end
    end
  end

  def recording_subclass(names)
    recording = recording_module(names)
    Class.new(TiercelStore) { prepend recording }
  end

  # Like older agents: defines a new method with the name and aliases the old one.
  def replace(target, name)
    seen = @seen
    hidden = target.private_method_defined?(name)
    target.send(:alias_method, :"unpatched_#{name}", name)
    target.define_method(name) do |*arguments, **options, &block|
      seen << name
      send(:"unpatched_#{name}", *arguments, **options, &block)
    end
    target.send(:private, name) if hidden
  end

  def store_over(backend)
    building = Module.new do
      define_singleton_method(:option_names) { [] }
      define_singleton_method(:build) { |*| backend }
    end
    Tiercel::Backends::REGISTRY.register(:hooked) { building }
    TiercelStore.new("hooked:")
  end

  def count_calls(backend, name)
    keys = []
    backend.define_singleton_method(name) { |key| keys << key; super(key) }
    keys
  end

  def in_child
    fork_and_wait(1) { yield; true }.each { |done| assert done }
  end
end
