# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/testing/constant_stubbing"
require "tiercel/lab/servers"

# A connection over which a server sends invalidation messages.
class RedisSubscriptionTest < Tiercel::TestCase
  include ActiveSupport::Testing::ConstantStubbing

  def self.server = @server ||= Tiercel::Lab::Servers::Redis.new.start

  def server = self.class.server

  # On a busy machine a server may take longer than the usual second.
  def run = stub_const(Tiercel::Backends::Redis::Subscription, :CHECK_SECONDS, 60) { super }

  def teardown
    [@subscription, @backend].compact.each(&:close)
  end

  def build(url = server.url) = @backend = Tiercel::Backends::Redis.build(Tiercel::BackendURL.parse(url), timeout: 20)
  def open(...) = @subscription = build(...).subscription.open

  # Returns all messages that the server sends before it answers a question.
  def told
    @subscription.ask
    told = []
    told << @subscription.read until told.last == :master
    told[0...-1]
  end

  def test_what_was_changed_before_a_question_comes_before_its_answer
    open
    @backend.set_multi({ "one" => "1", "two" => "2" })
    @backend.delete("one")
    server.command("SET", "other", "x")
    server.command("SELECT", "1")
    assert_equal %w[one other two], told.flatten.uniq.sort
    @backend.set("bytes \xFF", "x")
    assert_includes told.flatten.map(&:b), "bytes \xFF".b
    @backend.clear
    assert_includes told, nil
  end

  def test_keys_of_one_prefix
    @subscription = build.subscription("app:").open
    @backend.set_multi({ "app:one" => "1", "other:two" => "2", "app" => "3" })
    assert_equal ["app:one"], told.flatten
    @subscription.probe(key = @subscription.probe_key)
    wait_until("the change of its key") { @subscription.read == [key] }
    server.command("DEL", key) # its end would be a message to another test
  end

  def test_a_server_at_work_on_a_script_has_answered_nothing
    own = Tiercel::Lab::Servers::Redis.new(args: %w[--busy-reply-threshold 1]).start
    open(own.url)
    script = Thread.new { own.command("EVAL", "while true do end", "0") }
    wait_until("an answer that says so", within: 30) do
      @subscription.ask
      @subscription.read == :busy
    end
    own.command("SCRIPT", "KILL")
    script.join
    assert_empty told
  ensure
    script&.kill
    own&.stop
  end

  # Within one iteration of the server's event loop, the answer to a question precedes the invalidation of a change.
  def test_a_question_after_the_answer_to_a_change_is_answered_after_its_invalidation
    open
    500.times do |number|
      @backend.set("key #{number}", "x")
      assert_equal [["key #{number}"]], told
    end
  end

  def test_which_server_a_new_connection_leads_to
    own = Tiercel::Lab::Servers::Redis.new.start
    open(own.url)
    assert_predicate @subscription, :same_server?
    before = @subscription.server
    refute_equal before, build(own.url).subscription("app:").open.tap(&:close).server
    own.kill
    assert_raises(Tiercel::Unavailable) { @subscription.same_server? }
    own.start
    refute_predicate @subscription, :same_server?
  ensure
    own&.stop
  end

  def test_the_other_connections_speak_as_before
    open
    @backend.get("key")
    assert_equal 1, server.command("CLIENT", "LIST").lines.count { |line| line.include?("resp=3") }
  end

  def test_the_end_of_the_server_and_a_replica_are_failures
    own = Tiercel::Lab::Servers::Redis.new.start
    open(own.url)
    own.command("REPLICAOF", "127.0.0.1", "1")
    assert_raises(Tiercel::Unavailable) { told }
    open(own.url)
    own.kill
    assert_raises(Tiercel::Unavailable) { @subscription.read }
    assert_raises(Tiercel::Unavailable) { @subscription.ask && @subscription.read }
    assert_raises(Tiercel::Unavailable) { open(own.url) }
  ensure
    own&.stop
  end

  def test_what_will_never_be_is_refused_and_what_may_come_is_not
    limits = { deaf: "-client|tracking", nameless: "-info", roleless: "-role", mute: "resetkeys" }
    limits.each { |user, rule| server.command("ACL", "SETUSER", user, "reset", "on", ">secret", "~*", "+@all", rule) }
    url = ->(user, word = "secret") { server.url.sub("//", "//#{user}:#{word}@") }
    %i[deaf nameless].each { |user| assert_raises(Tiercel::Refused) { open(url[user]) } }
    open(url[:roleless])
    @subscription.ask
    assert_raises(Tiercel::Refused) { @subscription.read }
    open(url[:mute])
    @subscription.probe(@subscription.probe_key)
    assert_raises(Tiercel::Refused) { @subscription.read }
    assert_raises(Tiercel::Unavailable) { open(url[:mute, "wrong"]) }
  ensure
    limits.each_key { |user| server.command("ACL", "DELUSER", user) }
  end

  def test_a_server_that_takes_no_writes_is_a_failure_for_now
    own = Tiercel::Lab::Servers::Redis.new.start
    { /OOM/ => %w[CONFIG SET maxmemory 1], /READONLY/ => %w[REPLICAOF 127.0.0.1 1] }.each do |message, command|
      open(own.url)
      own.command(*command)
      @subscription.probe(@subscription.probe_key)
      error = assert_raises(Tiercel::Unavailable) { loop { @subscription.read } }
      assert_match message, error.message
    end
  ensure
    own&.stop
  end
end
