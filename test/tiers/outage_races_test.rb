# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/tiers"
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
    changes = { delete: -> { @other.delete("key") }, write: -> { @other.write("key", "new") },
                multi: -> { @other.delete_multi(%w[key]) } }
    calls.to_a.product(changes.to_a).each do |(name, call), (how, change)|
      build("memory:").write("key", "old")
      @store.backend.near.forget(["key"])
      during(call) { held_up(near(@store), :near_epoch) { away(@other) { change.call } } }
      refute_equal "old", @store.backend.near.get("key").to_s[-3..], "#{name} beside #{how}"
      refute_equal "old", @other.read("key"), "#{name} beside #{how}"
    end
  end

  # The copies were deleted before the note was written.
  def test_a_reader_who_asks_after_the_copies_went
    build("memory:").write("key", "old")
    replay = @other.backend.replay
    during(-> { away(@other) { @other.delete("key") } }) { held_up(replay, :note) { @store.read("key") } }
    assert_nil @store.backend.near.get("key")
    assert_nil @store.read("key")
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
        away(@other) { @other.delete("key") }
      end
      original.call(keys)
    end
    near(@store).stub(:near_begin, hook) { call.call }
    assert_equal false, @hook
    assert_nil @store.backend.near.get("key")
    assert_nil @store.read("key")
  end

  # A server that accepts no writes, such as a demoted master: the key stays in the journal, and no read finds the
  # entry that was to be deleted. Other keys are read and get near copies.
  def test_a_server_that_refuses_to_delete
    [@store, build("memory:?ttl=600&bus=false", shared)].each do |store|
      names = %w[a b]
      store.write_multi(names.to_h { |name| [name, "old"] })
      @server.command("REPLICAOF", "127.0.0.1", "1")
      assert_equal false, store.delete("a")
      assert_nil store.write("a", "new")
      assert_nil store.read("a")
      assert_equal({ "b" => "old" }, store.read_multi(*names))
      assert_nil @other.read("a")
      assert_equal [true, "old"], [@other.backend.pending?, @other.read("b")]
      assert_nil store.backend.near.get("a")
      refute_nil store.backend.near.get("b")
      @server.command("REPLICAOF", "NO", "ONE")
      replayed(store)
      assert_equal [nil, nil, "old"], [store.read("a"), @other.read("a"), store.read("b")]
    end
  end

  # A full server stores nothing but still deletes, so no other key is affected.
  def test_a_server_that_is_full
    @store.write_multi({ "a" => "old", "b" => "old", "c" => "old", "d" => "old" })
    @server.command("CONFIG", "SET", "maxmemory", "1")
    assert_nil @store.write("a", "new")
    assert_equal false, @store.backend.pending?
    assert_nil build("memory:").read("a")
    assert_nil @store.write_multi({ "b" => "new", "c" => "new" }) || nil
    assert_equal({ "d" => "old" }, @store.read_multi("a", "b", "c", "d"))
    assert_equal [false, "old"], [@store.backend.pending?, @other.read("d")]
  ensure
    @server.command("CONFIG", "SET", "maxmemory", "0")
  end

  # Every attempt to delete one key failed, so no other noted key was deleted, and nothing got a near copy.
  def test_a_key_that_a_user_may_not_change
    @server.command("ACL", "SETUSER", "app", "on", ">secret", "~app:*", "+@all")
    far = @server.url.sub("redis://", "redis://app:secret@")
    store = ActiveSupport::Cache::TiercelStore.new(shared, far, namespace: "app", error_handler: ->(**) {})
    @stores << store
    store.write_multi({ "a" => "old", "b" => "old" })
    assert_equal false, store.delete("key", namespace: "other")
    assert_empty Dir["#{@dir}/*.journal-*"].select { |path| File.size?(path) }
    store.backend.undelivered(%w[app:a other:key])
    replayed(store)
    assert_equal [nil, "old"], [store.read("a"), store.read("b")]
    refute_nil store.backend.near.get("app:b")
  end

  # A deleted entry was read again and got a near copy.
  def test_a_process_that_can_open_no_more_files
    @store.write("key", "old")
    away(@other) { @other.delete("key") }
    open = File.method(:open)
    full = ->(path, *rest, &block) { path.include?("journal") ? raise(Errno::EMFILE) : open.call(path, *rest, &block) }
    File.stub(:open, full) { assert_nil @store.read("key") }
    assert_nil @store.read("key")
    assert_equal "new", @store.fetch("key") { "new" }
  end

  # Another program has altered or written the copy.
  def test_a_time_of_computing_that_is_none
    ["", "\xFF", "\xFF" * 8, "\0" * 8, "\xFF" * 300].each do |data|
      bytes = Tiercel::Frame.build(1, "text", parts: [0x08, data.bytesize].pack("CS<") << data.b)
      near = @store.backend.near
      assert_includes [Integer, NilClass], Tiercel::Tiers::Copy.computed_at(bytes).class
      near.instance_variable_set(:@covering, true)
      near.instance_variable_set(:@coverage, Tiercel::Tiers::Coverage.new(near.backend.segment))
      refute near.computed_lately?(bytes)
    end
  end
end
