# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/tiers"
require "support/last_tier_away"

# Somebody's last tier is away, while another caller of the machine is held up in the midst of a call.
class TiersOutageRacesTest < Tiercel::TestCase
  include LastTierAway

  def setup
    super
    @store = build(shared)
    @other = build(shared)
  end

  def build(*urls, **options) = super(*urls, compress: false, **options)

  # Before the next call of the object's method, once.
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

  def near(store) = store.backend.before_last.backend.segment

  # @param call what is held up
  def during(call)
    @call = call
    yield
  end

  # A note had been made after the reader had asked for notes, and its invalidation before he looked at the epoch.
  def test_a_reader_who_has_asked_for_notes_and_not_yet_for_the_epoch
    calls = { read: -> { @store.read("key") }, multi: -> { @store.read_multi("key", "more") },
              fetch: -> { @store.fetch("key") { "made" } }, exist: -> { @store.exist?("key") } }
    changes = { delete: -> { @other.delete("key") }, write: -> { @other.write("key", "new") },
                multi: -> { @other.delete_multi(%w[key]) } }
    calls.to_a.product(changes.to_a).each do |(name, call), (how, change)|
      build("memory:").write("key", "old")
      @store.backend.forget(["key"])
      during(call) { held_up(near(@store), :near_epoch) { away(@other) { change.call } } }
      refute_equal "old", @store.backend.near.get("key").to_s[-3..], "#{name} beside #{how}"
      refute_equal "old", @other.read("key"), "#{name} beside #{how}"
    end
  end

  # The copies had gone before there was a note.
  def test_a_reader_who_asks_after_the_copies_went
    build("memory:").write("key", "old")
    journal = @other.backend.instance_variable_get(:@outage)
    during(-> { away(@other) { @other.delete("key") } }) { held_up(journal, :note) { @store.read("key") } }
    assert_nil @store.backend.near.get("key")
    assert_nil @store.read("key")
  end

  def test_patterns_and_clears_are_noted_before_the_copies_go
    %i[note_clear note_matching].each do |method|
      store, other = Array.new(2) { build(shared, namespace: "app") }
      build("memory:", namespace: "app").write("key", "old")
      call = method == :note_clear ? -> { other.clear } : -> { other.delete_matched("k*") }
      outage = other.backend.instance_variable_get(:@outage)
      during(-> { away(other) { call.call } }) { held_up(outage, method) { store.read("key") } }
      assert_nil store.backend.near.get("app:key"), method
    end
  end

  # The copies of the tier in the middle went last, so the first one had them again.
  def test_a_reader_between_the_tiers_of_three
    store = build("memory:?ttl=600&bus=false", shared)
    build("memory:").write("key", "old")
    @store.read("key")
    far = store.backend.far.near
    during(-> { away(store) { store.delete("key") } }) { held_up(far, :forget) { store.backend.get_near("key") } }
    assert_nil store.backend.near.get("key")
    store.backend.forget(["key"])
    build("memory:").write("key", "old")
    @store.read("key")
    during(-> { store.backend.forget(["key"]) }) { held_up(far, :forget) { store.backend.get_near("key") } }
    assert_nil store.backend.near.get("key")
  end

  # A value made of what was there before is not stored behind a delete.
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

  # A replica that has been a master takes no changes, and is read: what was to be deleted became a copy, which was read
  # after the server had taken changes again, for as long as nobody of the machine asked for anything else.
  def test_what_was_refused_leaves_no_copies_of_what_is_read_meanwhile
    [@store, build("memory:?ttl=600&bus=false", shared)].each do |store|
      names = %w[a b]
      store.write_multi(names.to_h { |name| [name, "old"] })
      @server.command("REPLICAOF", "127.0.0.1", "1")
      assert_equal false, store.delete("a")
      assert_equal "old", store.read("a")
      assert_equal({ "a" => "old", "b" => "old" }, store.read_multi(*names))
      assert_equal "old", @other.read("a")
      assert_equal [nil, nil], names.map { |name| store.backend.get_near(name) }
      @server.command("REPLICAOF", "NO", "ONE")
      pauses_over(store, @other)
      assert_equal [nil, nil, "old"], [store.read("a"), @other.read("a"), store.read("b")]
      refute_nil store.backend.get_near("b")
    end
  end

  def pauses_over(*stores)
    stores.each do |store|
      tiers = store.backend
      tiers = tiers.far while tiers.far.is_a?(Tiercel::Tiers)
      tiers.instance_variable_get(:@outage).instance_variable_set(:@again_at, nil)
    end
  end

  # The pattern was noted, and whatever anybody of the machine asked for raised what it had raised.
  def test_a_pattern_that_takes_too_long
    slow = /\A(a+)+\1\z|\A(?:a|aa)+(?=(b))\2\z/
    @store.write_multi({ "#{"a" * 60}c" => 1, "b" => "old", "key" => 1 })
    limited(0.05) do
      assert_raises(Regexp::TimeoutError) { @store.delete_matched(slow) }
      away(@store) { @store.delete_matched(/\Ab/) }
      assert_output(nil, /took longer/) { assert_nil @store.read("b") }
      assert_equal 1, @other.read("key")
    end
  end

  def limited(seconds)
    before = Regexp.timeout
    Regexp.timeout = seconds
    yield
  ensure
    Regexp.timeout = before
  end

  # Each try to delete it was in vain, so nothing that was noted was ever deleted, and nothing became a copy.
  def test_a_key_that_a_user_may_not_change
    @server.command("ACL", "SETUSER", "app", "on", ">secret", "~app:*", "+@all")
    far = @server.url.sub("redis://", "redis://app:secret@")
    store = ActiveSupport::Cache::TiercelStore.new(shared, far, namespace: "app", error_handler: ->(**) {})
    @stores << store
    store.write_multi({ "a" => "old", "b" => "old" })
    assert_equal false, store.delete("key", namespace: "other")
    assert_empty Dir["#{@dir}/*.journal-*"].select { |path| File.size?(path) }
    store.backend.untold(%w[app:a other:key])
    assert_equal [nil, "old"], [store.read("a"), store.read("b")]
    refute_nil store.backend.near.get("app:b")
  end

  # What had been deleted was read again, and became a copy.
  def test_a_process_that_can_open_no_more_files
    @store.write("key", "old")
    away(@other) { @other.delete("key") }
    open = File.method(:open)
    full = ->(path, *rest, &block) { path.include?("journal") ? raise(Errno::EMFILE) : open.call(path, *rest, &block) }
    File.stub(:open, full) { assert_nil @store.read("key") }
    assert_nil @store.read("key")
    assert_equal "new", @store.fetch("key") { "new" }
  end

  # Of a copy that somebody has altered, or a program that writes such frames.
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
