# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/lab/servers"

# A restarted memcached restarts its cas numbers at 1, so an earlier token must never match afterwards.
class MemcachedTokenTest < Tiercel::TestCase
  Memcached = Tiercel::Backends::Memcached

  def setup
    @server = Tiercel::Lab::Servers::Memcached.new.start
    @backend, @peer = build, build
  end

  def teardown
    [@backend, @peer, *@stores].each(&:close)
    @server.stop
  end

  def test_a_token_of_the_server_that_was_there_before
    { compare_and_set: ->(token) { @backend.compare_and_set("key", "old", token) },
      compare_and_set_multi: ->(token) { @backend.compare_and_set_multi({ "key" => ["old", token] }) == ["key"] },
      compare_exchange: ->(token) { @backend.compare_exchange("key", "old", 10, token).first == "old" },
      compare_exchange_multi: lambda do |token|
        @backend.compare_exchange_multi({ "key" => "old" }, 10, { "key" => token })["key"].first == "old"
      end,
    }.each do |way, write|
      token = token_of { @backend.get_with_token("key").last }
      restart
      assert_equal token.cas, @peer.get_with_token("key").last.cas, "the same number means another entry"
      assert_equal [false, "new"], [write.call(token), @peer.get("key")], way
    end
  end

  def test_every_way_to_a_token
    { get_with_token: -> { @backend.get_with_token("key").last },
      get_multi_with_tokens: -> { @backend.get_multi_with_tokens(["key"])["key"].last },
      look: -> { @backend.look("key")[1] },
      add_or_get: -> { @backend.add_or_get("key", "not added").last },
      compare_exchange: -> { @backend.compare_exchange("key", "not written", 10)[1] },
      compare_exchange_multi: -> { @backend.compare_exchange_multi({ "key" => "not written" }, 10)["key"][1] },
    }.each do |way, read|
      token = token_of(&read)
      restart
      assert_equal [false, "new"], [@backend.compare_and_set("key", "old", token), @peer.get("key")], way
      token = read.call
      assert_equal true, @backend.compare_and_set("key", "newer", token), way
    end
  end

  def test_a_child_that_was_forked_since
    token = token_of { @backend.get_with_token("key").last }
    written = fork_and_wait(1) { [@backend.compare_and_set("key", "old", token), @backend.get("key")] }
    assert_equal [[false, "first"]], written
  end

  def test_what_a_block_gives_is_not_stored_over_what_came_after_the_restart
    one, other = store, store
    value = one.fetch("name") do
      @server.restart
      other.write("name", "new")
      "old"
    end
    assert_equal %w[old new], [value, other.read("name")]
    assert_equal({ "name" => "new", "b" => "b" }, one.fetch_multi("name", "b") { |name| name })
  end

  # Without a restart a token stays valid, even if the fill uses a newer connection than the take.
  def test_a_fill_over_a_newer_connection
    one, other = store, store
    assert_equal({ "a" => 1, "b" => 1 }, one.fetch_multi("a", "b") { use_all_connections(one) && 1 })
    assert_equal 2, one.fetch("name") { use_all_connections(one) && 2 }
    assert_equal [1, 1, 2], %w[a b name].map { |name| other.read(name) }
  end

  private

  def build = Memcached.build(Tiercel::BackendURL.parse(@server.url), timeout: 20)

  def store
    (@stores ||= []) << Tiercel.new(@server.url, timeout: 20, breaker: false)
    @stores.last
  end

  # @yieldreturn [Object] the token of the only entry
  def token_of
    @peer.clear
    @server.restart
    @peer.set("key", "first")
    yield
  end

  def restart
    @server.restart
    @peer.set("key", "new")
  end

  # The pool returns the most recently used connection first.
  def use_all_connections(store)
    Array.new(4) { Thread.new { 20.times { store.read("nothing") } } }.each(&:join)
  end
end
