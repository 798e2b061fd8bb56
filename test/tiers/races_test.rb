# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# `shared:` over `sqlite:` on one machine: the state after processes were paused or killed.
class TiersRacesTest < Tiercel::TestCase
  def teardown
    @store&.close
  end

  def build_store(**options)
    ActiveSupport::Cache::TiercelStore.new("shared:#{dir}/segment?size=4MB&ttl=600", "sqlite:#{dir}/cache.sqlite3",
                                           timeout: 20, **options)
  end

  def store = @store ||= build_store

  # Runs code during one call to the last tier.
  def around_far(store, method, before: nil, after: nil)
    far = store.backend.last
    far.define_singleton_method(method) do |*arguments|
      singleton_class.send(:remove_method, method)
      before&.call
      result = super(*arguments)
      after&.call
      result
    end
  end

  CHANGES = {
    write_briefly: ->(store) { store.write("key", "new", expires_in: 60) },
    unless_exist: ->(store) { store.delete("key") && store.write("key", "new", unless_exist: true) },
    write_multi: ->(store) { store.write_multi({ "key" => "new", "other" => 1 }) },
    force: ->(store) { store.fetch("key", force: true) { "new" } },
    count: ->(store) { store.write("key", 5, raw: true) && store.increment("key") && store.write("key", "new") },
    delete: ->(store) { store.delete("key") },
    delete_multi: ->(store) { store.delete_multi(%w[key other]) },
    delete_matched: ->(store) { store.delete_matched("key*") },
    clear: ->(store) { store.clear },
  }.freeze

  # Strings come from the segment; an Array is decoded.
  def test_no_read_after_a_change_returns_what_a_held_up_read_found
    CHANGES.each do |name, change|
      ["old", ["old"]].product(%i[get get_multi]).each do |old, method|
        store.write("key", old)
        store.backend.near.forget(["key"])
        around_far(store, method, after: -> { fork_and_wait(1) { change.call(build_store) && nil } })
        method == :get ? store.read("key") : store.read_multi("key")
        refute_equal old, store.read("key"), name
        refute_includes store.read_multi("key", "other").values, old, name
      end
    end
  end

  def test_delete_matched_finds_copies_of_what_the_last_tier_has_evicted
    @store = build_store(namespace: "app")
    store.write_multi({ "a key" => 1, "other" => 2 })
    store.read_multi("a key", "other")
    store.backend.last.clear
    store.delete_matched("a*")
    assert_nil store.read("a key")
    assert_equal 2, store.read("other")
  end

  def killed(&)
    pid = fork do
      yield build_store
      exit!(1)
    end
    _, status = Process.wait2(pid)
    assert_equal Signal.list["KILL"], status.termsig
  end

  def kill_me = -> { Process.kill(:KILL, Process.pid) && sleep }

  # Killed between the change in the farther and in the near tier, while other processes were reading.
  def test_a_writer_that_is_killed_between_the_tiers
    reads = -> { fork_and_wait(1) { build_store.read("key") } }
    { set: ->(other) { other.write("key", "new") }, delete: ->(other) { other.delete("key") },
      set_multi: ->(other) { other.write_multi({ "key" => "new", "other" => 1 }) },
      clear: ->(other) { other.clear } }.each do |method, call|
      store.write("key", "old")
      assert_equal "old", store.read("key")
      killed do |other|
        around_far(other, method, before: -> { reads.call }, after: kill_me)
        call.call(other)
      end
      expected = %i[set set_multi].include?(method) ? "new" : nil
      expected.nil? ? assert_nil(store.read("key"), method) : assert_equal(expected, store.read("key"), method)
    end
  end

  # A reader has read the last tier before the change, and fills the near tier after the writer's death.
  def test_a_fill_after_the_death_of_the_writer
    store.write("key", "old")
    store.backend.near.forget(["key"])
    begun, go = IO.pipe, IO.pipe
    writer = fork do
      other = build_store
      around_far(other, :set, before: -> { begun[1].write("x") && go[0].read(1) }, after: kill_me)
      other.write("key", "new")
      exit!(1)
    end
    begun[0].read(1)
    around_far(store, :get, after: -> { go[1].write("x") && Process.wait(writer) })
    assert_equal "old", store.read("key")
    assert_equal "new", store.read("key")
  ensure
    [begun, go].flatten.each(&:close)
  end
end
