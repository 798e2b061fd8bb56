# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/last_tier_away"

# The last tier is unreachable for one process, while another caller of the machine pauses in the middle of a call.
class TiersOutageRacesTest < Tiercel::TestCase
  include LastTierAway

  def setup
    super
    @store = build(shared)
    @other = build(shared)
  end

  def build(*urls, **options) = super(*urls, compress: false, **options)

  # Runs the block before the object's next call of the method, once.
  def held_up(object, method)
    original = object.method(method)
    waits = true
    hook = lambda do |*args, **options, &block|
      if waits
        waits = false
        @held_up = true
        yield
      end
      original.call(*args, **options, &block)
    end
    @held_up = false
    object.stub(method, hook) { @call.call }
    assert @held_up, "#{method} was not called"
  end

  def near(store) = store.backend.near.backend.segment

  # @param call the paused call
  def during(call)
    @call = call
    yield
  end

  # A note was written after the reader had read the notes, and its invalidation came before the reader read the
  # epoch.
  def test_a_reader_who_has_asked_for_notes_and_not_yet_for_the_epoch
    calls = { read: -> { @store.read("key") }, multi: -> { @store.read_multi("key", "more") },
              fetch: -> { @store.fetch("key") { "made" } }, exist: -> { @store.exist?("key") } }
    changes = { delete: -> { @store.delete("key") }, write: -> { @store.write("key", "new") },
                multi: -> { @store.delete_multi(%w[key]) } }
    calls.to_a.product(changes.to_a).each do |(name, call), (how, change)|
      build("memory:").write("key", "old")
      @store.backend.near.forget(["key"])
      during(call) { held_up(near(@store), :near_epoch) { away(@store) { change.call } } }
      refute_equal "old", @store.backend.near.get("key").to_s[-3..], "#{name} beside #{how}"
      refute_equal "old", @store.read("key"), "#{name} beside #{how}"
    end
  end

  # A value computed from the previous state is not stored after a delete.
  def test_a_block_whose_value_is_held_up_on_its_way
    call = lambda do
      @store.fetch("key") do
        @hook = true
        "made before"
      end
    end
    @call = call
    original = near(@store).method(:near_begin)
    hook = lambda do |keys|
      if @hook
        @hook = false
        away(@store) { @store.delete("key") }
      end
      original.call(keys)
    end
    near(@store).stub(:near_begin, hook) { call.call }
    assert_equal false, @hook
    assert_nil @store.backend.near.get("key")
    assert_nil @store.read("key")
  end

  # A server that accepts no writes, such as a demoted master: the key stays in the list, and no read of the process
  # finds the entry that was to be deleted. Other keys are read and get near copies.
  def test_a_server_that_refuses_to_delete
    [@store, build("memory:?ttl=600&bus=false")].each do |store|
      names = %w[a b]
      store.write_multi(names.to_h { |name| [name, "old"] })
      @server.command("REPLICAOF", "127.0.0.1", "1")
      assert_equal false, store.delete("a")
      assert_nil store.write("a", "new")
      assert_nil store.read("a")
      assert_equal({ "b" => "old" }, store.read_multi(*names))
      assert_equal [true, "old"], [undelivered(store).any?, store.read("b")]
      assert_nil store.backend.near.get("a")
      refute_nil store.backend.near.get("b")
      @server.command("REPLICAOF", "NO", "ONE")
      travel_monotonic(1) { assert_equal [nil, "old"], [store.read("a"), store.read("b")] } # it is asked again
    end
  end

  # A full server stores nothing but still deletes, so no other key is affected.
  def test_a_server_that_is_full
    @store.write_multi({ "a" => "old", "b" => "old", "c" => "old", "d" => "old" })
    @server.command("CONFIG", "SET", "maxmemory", "1")
    assert_nil @store.write("a", "new")
    assert_equal false, undelivered(@store).any?
    assert_nil build("memory:").read("a")
    assert_nil @store.write_multi({ "b" => "new", "c" => "new" }) || nil
    assert_equal({ "d" => "old" }, @store.read_multi("a", "b", "c", "d"))
    assert_equal [false, "old"], [undelivered(@store).any?, @other.read("d")]
  ensure
    @server.command("CONFIG", "SET", "maxmemory", "0")
  end

  # Every attempt to delete one key failed, so no other noted key was deleted, and nothing got a near copy.
  def test_a_key_that_a_user_may_not_change
    @server.command("ACL", "SETUSER", "app", "on", ">secret", "~app:*", "+@all")
    far = @server.url.sub("redis://", "redis://app:secret@")
    store = ActiveSupport::Cache::TiercelStore.new(shared, far, namespace: "app", timeout: 20,
                                                                error_handler: ->(**) {})
    @stores << store
    store.write_multi({ "a" => "old", "b" => "old" })
    assert_equal false, store.delete("key", namespace: "other")
    undelivered(store).note(%w[app:a other:key])
    assert_equal [nil, "old"], [store.read("a"), store.read("b")]
    refute_nil store.backend.near.get("app:b")
  end
end
