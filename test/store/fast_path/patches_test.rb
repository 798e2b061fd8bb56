# frozen_string_literal: true

require "test_helper"
require "active_support/cache/tiercel_store"
require "tiercel/backends/memory_lru"
require_relative "../recorded_calls"

# Patches of stores that are already in use: from an application's after_initialize, which runs after the Railtie's
# own, or later. Each test runs in a child process, because a patch cannot be undone.
class StorePatchesTest < Tiercel::TestCase
  include RecordedCalls

  def test_a_module_prepended_after_the_store_was_built
    in_child do
      store = used_store
      Store.prepend(recording_module(PUBLIC_CALLS))
      assert_sees_every_call(store)
    end
  end

  def test_methods_of_rails_that_are_replaced_after_the_store_was_built
    in_child do
      store = used_store
      PUBLIC_CALLS.each { |name| replace(Store, name) }
      assert_sees_every_call(store)
    end
  end

  def test_one_private_method_that_is_replaced_after_the_store_was_built
    in_child do
      store = used_store
      replace(Store, :save_block_result_to_cache)
      assert_sees_as_much_as_without(store)
    end
  end

  def test_a_patch_of_all_stores_of_ours
    in_child do
      store = used_store
      TiercelStore.prepend(recording_module(%i[write_entry]))
      store.write("a", 1)
      assert_equal %i[write_entry], @seen
    end
  end

  def test_a_patch_during_a_call
    in_child do
      store = used_store
      store.fetch("made") { Store.prepend(recording_module(PUBLIC_CALLS)) && 1 }
      assert_empty @seen, "a fetch ends as it has begun"
      assert_sees_every_call(store)
    end
  end

  def test_a_patch_within_the_request_local_cache
    in_child do
      store = store_over(Class.new(Tiercel::Backends::MemoryLRU) { def near? = false }.new)
      store.with_local_cache do
        exercise(store)
        Store.prepend(recording_module(PUBLIC_CALLS - %i[fetch_multi]))
        exercise(store)
      end
      assert_equal [], PUBLIC_CALLS - %i[fetch_multi] - @seen
    end
  end

  def test_copies_of_a_store_see_patches_too
    in_child do
      copy = used_store.dup
      Store.prepend(recording_module(PUBLIC_CALLS))
      assert_sees_every_call(copy)
    end
  end

  # --- notifications ---

  def test_instrument_that_is_replaced_after_the_store_was_built
    in_child do
      store = TiercelStore.new("memory:")
      ActiveSupport::Notifications.singleton_class.prepend(recording_module(%i[instrument]))
      assert_sees_as_much_as_without(store)
    end
  end

  # Patches the store as AppSignal does.
  def test_handles_of_events_that_are_patched_after_the_store_was_built
    in_child do
      store = used_store
      ActiveSupport::Notifications.subscribe(/cache_/) { |*| nil }
      ActiveSupport::Notifications::Fanout::Handle.prepend(recording_module(%i[start finish_with_values]))
      assert_sees_as_much_as_without(store)
    end
  end

  def test_an_instrument_with_another_name_after_the_store_was_built
    in_child do
      store = used_store
      replace(ActiveSupport::Notifications.singleton_class, :instrument)
      assert_sees_as_much_as_without(store)
    end
  end

  def test_an_instrumenter_that_is_replaced_after_the_store_was_built
    in_child do
      store = used_store
      ActiveSupport::Notifications.subscribe(/cache_/) { |*| nil }
      replace(ActiveSupport::Notifications::Instrumenter, :instrument)
      assert_sees_as_much_as_without(store)
    end
  end

  # Subscribers with five parameters receive their events without such a group.
  def test_groups_of_subscribers_that_are_patched_after_the_store_was_built
    { BaseGroup: :each, BaseTimeGroup: :finish, TimedGroup: :now }.each do |name, method|
      group = ActiveSupport::Notifications::Fanout.const_get(name)
      [-> { group.prepend(recording_module([method])) }, -> { replace(group, method) }].each do |patch|
        in_child do
          store = used_store
          ActiveSupport::Notifications.subscribe(/cache_/) { |*| nil }
          patch.call
          assert_sees_as_much_as_without(store)
        end
      end
    end
  end

  def test_a_start_of_their_own_for_groups_of_subscribers
    in_child do
      store = used_store
      seen = @seen
      ActiveSupport::Notifications.subscribe(/cache_/) { |*| nil }
      ActiveSupport::Notifications::Fanout::TimedGroup.define_method(:start) do |*arguments|
        seen << :start
        super(*arguments)
      end
      assert_sees_as_much_as_without(store)
    end
  end

  def test_a_notifier_of_another_class
    in_child do
      store = used_store
      seen = @seen
      notifier = Object.new
      notifier.define_singleton_method(:listening?) { |name| seen << name && false }
      ActiveSupport::Notifications.notifier = notifier
      store.read("a")
      assert_equal %w[cache_read.active_support], @seen
    end
  end
end
