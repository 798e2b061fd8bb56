# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/machines"

# A machine receives invalidation messages of the last tier, and trusts no copies without them.
class TiersBusTest < Tiercel::TestCase
  include Machines

  CHANGES = {
    write: [->(store) { store.write("key", "new") }, "new"],
    write_multi: [->(store) { store.write_multi({ "key" => "new", "other" => 1 }) }, "new"],
    delete: [->(store) { store.delete("key") }, nil],
    delete_matched: [->(store) { store.delete_matched("k*") }, nil],
    clear: [->(store) { store.clear }, nil],
    expire: [->(store) { store.write("key", "short", expires_in: 0.05) }, nil],
  }.freeze

  def test_what_another_machine_changes_is_seen
    stores = [listening(machine(:one)), listening(machine(:two))]
    assert_equal 60.0, stores.last.backend.near.ttl
    CHANGES.each do |name, (change, seen)|
      stores.permutation.each do |writer, reader|
        writer.write("key", "old")
        near(reader, "key", "old")
        change.call(writer)
        wait_until("#{name} to be seen") { reader.read("key") == seen }
      end
    end
    assert_equal [1, 1], stores.map { |store| gaps(store) }
  end

  def test_what_another_program_does_to_the_server_is_seen
    store = listening(machine(:one))
    commands = [%w[SET key other], %w[DEL key], %w[RENAME key away], %w[FLUSHDB], %w[FLUSHALL], %w[PEXPIRE key 1]]
    commands.each do |command|
      store.write("key", "old")
      near(store, "key", "old")
      server.command(*command)
      wait_until("#{command.first} to be seen") { store.read("key") != "old" }
    end
  end

  # A fill that is delayed while another machine writes.
  def test_a_late_fill_loses
    one, two = listening(machine(:one)), listening(machine(:two))
    two.write("key", "old")
    far = one.backend.last
    written = -> { one.backend.near.bus.stats[:invalidations] }
    wait = ->(count) { wait_until("the news of it") { written.call > count } }
    far.define_singleton_method(:get) do |key|
      singleton_class.send(:remove_method, :get)
      super(key).tap do
        before = written.call
        two.write("key", "new")
        wait.call(before)
      end
    end
    assert_equal "old", one.read("key")
    assert_equal "new", one.read("key")
  end

  def test_after_a_cut_nothing_is_read_that_was_filled_before
    store = listening(listen_through_proxy(machine(:one)))
    other = listening(machine(:two))
    other.write("key", "old")
    other.write("kept", "kept")
    wait_until("the news of both") { store.backend.near.bus.stats[:invalidations] >= 2 } # they delete copies
    { "key" => "old", "kept" => "kept" }.each { |key, value| near(store, key, value) }
    @proxy.change(refuse: true)
    @proxy.cut
    other.write("key", "new")
    cut = coverage(store).now
    @proxy.heal
    listening_again(store, cut)
    assert_nil store.backend.near.get("kept")
    assert_equal "new", store.read("key")
    assert_equal 1, gaps(other)
  end

  # All messages arrive, but late.
  def test_what_is_held_back_is_not_trusted_and_comes_late
    store = listening(listen_through_proxy(machine(:one)))
    other = listening(machine(:two))
    other.write_multi({ "key" => "old", "kept" => "kept" })
    { "key" => "old", "kept" => "kept" }.each { |key, value| near(store, key, value) }
    @proxy.change(hold: true)
    coverage(store).trust = 0.2
    other.write("key", "new")
    wait_until("distrust") { !coverage(store).trusted? }
    assert_nil store.backend.near.get("kept")
    assert_equal "new", store.read("key")
    assert_nil store.backend.near.get("key"), "nothing is filled meanwhile"
    coverage(store).trust = 3
    @proxy.heal
    wait_until("the late news") { store.read("key") == "new" }
    near(store, "kept", "kept")
    assert_equal 1, gaps(store)
  end

  def test_a_server_that_restarts
    own = Tiercel::Lab::Servers::Redis.new.start
    store = listening(machine(:one, url: own.url, error_handler: ->(**) {}))
    store.write("key", "old")
    near(store, "key", "old")
    own.kill
    cut = coverage(store).now
    own.start
    listening_again(store, cut)
    assert_nil store.read("key")
    store.write("key", "new")
    near(store, "key", "new")
  ensure
    own&.stop
  end

  def test_while_the_server_is_away_copies_are_read_until_trust_ends
    own = Tiercel::Lab::Servers::Redis.new.start
    reports = []
    store = listening(machine(:one, url: own.url, error_handler: ->(**report) { reports << report }))
    store.write("key", "value")
    wait_until("the news of it, with which its copy goes") { store.backend.near.bus.stats[:invalidations].positive? }
    near(store, "key", "value")
    assert_operator store.backend.near.ttl, :==, 60.0
    coverage(store).trust = 60
    own.kill
    3.times { assert_equal "value", store.read("key") }
    assert_empty reports
    coverage(store).trust = 0.2
    wait_until("distrust") { store.read("key").nil? }
    assert_equal "made", store.fetch("key") { "made" }
  ensure
    own&.stop
  end

  def test_processes_of_one_machine_cover_each_other
    store = listening(machine(:one))
    store.write("key", "value")
    near(store, "key", "value")
    ready, go = IO.pipe
    child = Process.fork do
      own = machine(:one)
      own.read("nothing")
      wait_until { own.stats[:tiers].values.first[:bus][:listening] }
      go.write("x")
      sleep
    ensure
      exit!
    end
    go.close
    ready.readchar
    assert_equal 1, gaps(store), "one who begins later puts nothing away"
    assert_equal "value", store.read("key")
    Process.kill(:KILL, child)
    Process.wait(child)
    server.command("SET", "key", "other")
    wait_until("what is changed then to be seen") { store.backend.near.get("key").nil? }
    assert_equal 1, gaps(store)
  ensure
    ready.close
  end

  def test_a_forked_child_listens_for_itself
    store = listening(ActiveSupport::Cache::TiercelStore.new("memory:", server.url, timeout: 20))
    @stores << store
    store.write("key", "old")
    near(store, "key", "old")
    assert_equal [true], fork_and_wait(1) {
      store.read("nothing")
      wait_until("the child to have heard for itself") { store.backend.near.coverage.stats[:gaps] == 2 }
      near(store, "key", "old")
      server.command("DEL", "key")
      wait_until("a delete to be seen") { store.read("key").nil? }
      Tiercel.new(server.url, timeout: 20).write("key", "new")
      near(store, "key", "new")
    }
    wait_until("the parent to hear of it") { store.read("key") == "new" }
  end

  # Excludes the thread that watches the deadlines of all calls in the process.
  def threads = Thread.list.reject { |thread| thread.name == "tiercel deadlines" }

  def test_threads_are_named_end_with_the_store_and_begin_again
    before = threads
    store = machine(:one)
    store.write("key", "value")
    assert_empty threads - before, "a process that only writes has none"
    listening(store)
    started = threads - before
    assert_equal ["tiercel bus", "tiercel listener"], started.map(&:name).sort
    started.each(&:kill).each(&:join)
    store.read("nothing")
    wait_until("new threads") { store.stats[:tiers].values.first[:bus][:listening] }
    store.close
    assert_empty threads - before
  end

  def test_a_store_that_nobody_has_any_more_listens_no_longer
    before = threads
    stores = Array.new(10) { ActiveSupport::Cache::TiercelStore.new("memory:", server.url) }
    stores.each { |store| listening(store) }
    assert_equal 20, (threads - before).size
    stores.clear
    wait_until("the threads to end") do
      GC.start
      (threads - before).size < 20 # the stack may still refer to some
    end
  end

  def refusing(*rules)
    server.command("ACL", "SETUSER", "limited", "reset", "on", ">secret", "~*", "+@all", *rules)
    url = server.url.sub("//", "//limited:secret@")
    reports = []
    store = machine(:limited, url: url, error_handler: ->(**report) { reports << report })
    store.write("app:key", "value")
    store.read("app:key")
    wait_until("the bus to be given up") { store.backend.near.ttl == 1.0 }
    wait_until("a report") { reports.any? }
    assert_equal [[:listen, Tiercel::Refused]], reports.map { |report| [report[:method], report[:exception].class] }
    assert_match(/NOPERM/, reports.first[:exception].message)
    wait_until("a copy") { store.read("app:key") && store.backend.near.get("app:key") }
    started = server.command("CLIENT", "LIST").lines.grep(/user=limited .*resp=3/)
    assert_empty started, "no connection is left of it"
  ensure
    server.command("ACL", "DELUSER", "limited")
  end

  def test_where_the_server_sends_nothing_copies_live_a_second = refusing("-client|tracking")
  def test_where_the_role_is_not_said_copies_live_a_second = refusing("-role")
  def test_where_the_server_does_not_name_itself_copies_live_a_second = refusing("-info")
  def test_where_no_key_may_be_changed_copies_live_a_second = refusing("resetkeys", "~app:*")

  # The refused call is retried every minute.
  def test_one_refusal_is_reported_once
    reports = []
    bus = machine(:one).backend.near.bus
    bus.define_singleton_method(:report) { |error| reports << error.message[/NOPERM \w+/] }
    %w[this this that].each { |name| bus.send(:refused, Tiercel::Refused.new("NOPERM #{name}", backend: "redis")) }
    assert_equal ["NOPERM this", "NOPERM that"], reports
  end

  # An error that ended the thread would reach the caller of `close`, or any thread with `Thread.abort_on_exception`.
  def test_without_the_folder_of_its_segment
    store = listening(machine(:one))
    pauses = Thread::Queue.new
    store.backend.near.bus.define_singleton_method(:sleep) { |seconds| pauses << seconds && Kernel.sleep(0.01) }
    FileUtils.rm_rf(dir)
    wait_until("many failures") { pauses.size > 10 }
    assert_equal 60.0, store.backend.near.ttl, "the server has refused nothing"
    assert_raises(Tiercel::Unavailable) { store.backend.near.trust_ttl }
    assert_equal 60.0, store.backend.near.ttl
    FileUtils.mkdir_p(dir)
    wait_until("the next attempt to make the segment") { segment?(store) }
    listening(store)
    store.backend.near.trust_ttl
    assert_equal 1.0, store.backend.near.ttl
  end

  def test_a_user_who_may_use_no_channels
    server.command("ACL", "SETUSER", "quiet", "reset", "on", ">secret", "~*", "+@all", "resetchannels")
    store = listening(machine(:one, url: server.url.sub("//", "//quiet:secret@")))
    assert_equal 60.0, store.backend.near.ttl
  ensure
    server.command("ACL", "DELUSER", "quiet")
  end

  # The new connections may lead to another server.
  def test_a_value_that_was_read_before_the_connections_were_replaced_gets_no_copy
    store = listening(machine(:one))
    store.read("nothing")
    bus = store.backend.near.bus
    seen = bus.before_fill
    assert bus.fill?(seen)
    store.backend.last.renew
    refute bus.fill?(seen)
  end

  # The server disconnects a subscriber that does not read, before its output fills the server's memory.
  def test_the_server_bounds_what_waits_for_a_listener
    listening(machine(:one))
    assert_match(/flags=\S*P\S*.* resp=3/, server.command("CLIENT", "LIST"))
  end

  def test_without_a_bus
    before = threads
    store = machine(:one, near: "&bus=false")
    assert_equal 1.0, store.backend.near.ttl
    Time.stub(:now, Time.now) { store.write("key", "value") && assert(store.backend.near.get("key")) }
    assert_empty threads - before
    error = assert_raises(Tiercel::ConfigurationError) { machine(:one, near: "&bus=sometimes") }
    assert_match(/bus: expected true or false.*"sometimes"/, error.message)
    error = assert_raises(Tiercel::ConfigurationError) { machine(:one, url: "sqlite:/nowhere", near: "&bus=true") }
    assert_match(/sends no invalidation messages/, error.message)
  end
end
