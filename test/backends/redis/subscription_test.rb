# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/backends/redis"
$LOAD_PATH.push(File.expand_path("../../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"

# A connection over which a server tells of what changes.
class RedisSubscriptionTest < Tiercel::TestCase
  def self.server = @server ||= Tiercel::Lab::Servers::Redis.new.start

  def server = self.class.server

  def teardown
    [@subscription, @backend].compact.each(&:close)
  end

  def build(url = server.url, **) = @backend = Tiercel::Backends::Redis.build(Tiercel::BackendURL.parse(url), { ** })
  def open(...) = @subscription = build(...).subscription.open

  # All that was told until a heartbeat came back.
  def told
    @subscription.beat("beat")
    told = []
    told << @subscription.read(5) until told.last.is_a?(Array) && told.last.include?("beat")
    told.reject { |keys| keys == false }
  end

  def test_what_was_changed_before_a_heartbeat_comes_before_it
    open
    @backend.set_multi({ "one" => "1", "two" => "2" })
    @backend.delete("one")
    server.command("SET", "other", "x")
    server.command("SELECT", "1")
    assert_equal %w[beat one other two], told.flatten.uniq.sort
    @backend.set("bytes \xFF", "x")
    assert_includes told.flatten.map(&:b), "bytes \xFF".b
    @backend.clear
    assert_includes told, nil
  end

  def test_the_other_connections_speak_as_before
    open
    @backend.get("key")
    assert_equal 1, server.command("CLIENT", "LIST").lines.count { |line| line.include?("resp=3") }
  end

  # A call leaves its deadline with the thread.
  def test_it_is_part_of_no_call
    Tiercel::Backends::Redis::Deadline.set(Tiercel::Clock.monotonic - 1)
    open
    @backend.set("key", "1")
    Tiercel::Backends::Redis::Deadline.set(Tiercel::Clock.monotonic - 1)
    assert_equal %w[beat key], told.flatten.uniq.sort
  end

  def test_silence_and_the_end_of_the_server_are_failures
    own = Tiercel::Lab::Servers::Redis.new.start
    open(own.url)
    assert_raises(Tiercel::TimedOut) { @subscription.read(0.01) }
    open(own.url)
    own.kill
    assert_raises(Tiercel::Unavailable) { @subscription.read(5) }
    assert_raises(Tiercel::Unavailable) { @subscription.beat("beat") && @subscription.read(5) }
    assert_raises(Tiercel::Unavailable) { open(own.url) }
  ensure
    own&.stop
  end

  def test_what_will_never_be_is_refused_and_what_may_come_is_not
    server.command("ACL", "SETUSER", "deaf", "reset", "on", ">secret", "~*", "+@all", "-client|tracking")
    server.command("ACL", "SETUSER", "mute", "reset", "on", ">secret", "~app:*", "+@all")
    assert_raises(Tiercel::Refused) { open(server.url.sub("//", "//deaf:secret@")) }
    open(server.url.sub("//", "//mute:secret@"))
    @subscription.beat("beat")
    assert_raises(Tiercel::Refused) { loop { @subscription.read(5) } }
    assert_raises(Tiercel::Unavailable) { open(server.url.sub("//", "//mute:wrong@")) }
  ensure
    %w[deaf mute].each { |user| server.command("ACL", "DELUSER", user) }
  end

  def test_a_server_that_takes_no_writes_is_a_failure_for_now
    own = Tiercel::Lab::Servers::Redis.new.start
    { /OOM/ => %w[CONFIG SET maxmemory 1], /READONLY/ => %w[REPLICAOF 127.0.0.1 1] }.each do |message, command|
      open(own.url)
      own.command(*command)
      @subscription.beat("beat")
      error = assert_raises(Tiercel::Unavailable) { loop { @subscription.read(5) } }
      assert_match message, error.message
    end
  ensure
    own&.stop
  end
end
