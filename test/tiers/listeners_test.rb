# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/machines"
require "support/moving_proxy"

# Two processes of a machine listen, to the server that answers: which ones, and until when that holds.
class TiersListenersTest < Tiercel::TestCase
  include Machines

  PATIENCE = 30

  def setup
    super
    @children = []
  end

  def teardown
    @children.each { |pid| end_child(pid) }
    super
  end

  def end_child(pid)
    Process.kill(:KILL, pid)
    Process.wait(pid)
    @children.delete(pid)
  end

  # @yieldparam store [ActiveSupport::Cache::TiercelStore] of another process of the machine
  def process(name = :one, **options)
    ready, go = IO.pipe
    parent = Process.pid
    @children << pid = Process.fork do
      ready.close
      store = machine(name, **options)
      store.read("nothing")
      yield store if block_given?
      go.write("x")
      sleep 0.1 while Process.ppid == parent
    rescue Exception => error # rubocop:disable Lint/RescueException
      go.write(error.full_message(highlight: false))
    ensure
      exit!
    end
    go.close
    assert_equal "x", ready.readpartial(65_536)
    pid
  ensure
    ready.close
  end

  def listeners(from = server) = from.command("CLIENT", "LIST", "TYPE", "pubsub").scan(/^id=/).size
  def listens?(store) = store.stats[:tiers].values.first[:bus][:listening]

  def calls(command)
    server.command("INFO", "commandstats")[/^cmdstat_#{command}:calls=(\d+)/, 1].to_i
  end

  def test_two_of_nine_processes_listen_and_no_key_is_changed_for_it
    store = listening(machine(:one))
    8.times { process { |other| wait_until("trust", within: PATIENCE) { coverage(other).trusted? } } }
    wait_until("two listeners", within: PATIENCE) { listeners == 2 }
    changes = calls("set")
    asked = calls("role")
    wait_until("questions", within: PATIENCE) { calls("role") >= asked + 5 }
    assert_equal [2, changes, 1], [listeners, calls("set"), gaps(store)]
  end

  def test_where_one_is_killed_another_one_takes_its_place
    listener = process { |store| wait_until("a seat", within: PATIENCE) { listens?(store) } }
    store = listening(machine(:one))
    wait_until("the second seat", within: PATIENCE) { listens?(store) }
    process
    store.write("key", "value", expires_in: 600)
    near(store, "key", "value")
    end_child(listener)
    wait_until("the third process", within: PATIENCE) { listeners == 2 && coverage(store).trusted? }
    near(store, "key", "value")
    assert_equal 1, gaps(store)
  end

  def test_a_process_that_waits_for_the_interpreter_gives_its_seat_to_one_that_does_not
    store = listening(machine(:one))
    process { |other| wait_until("a seat", within: PATIENCE) { listens?(other) } }
    process { |other| refute listens?(other) }
    assert listens?(store)
    bus = store.backend.near.bus
    bus.define_singleton_method(:tick) { |&wait| super(&wait).tap { @late = 6 } }
    wait_until("its seat to be another's", within: PATIENCE) { !listens?(store) }
    wait_until("two listeners", within: PATIENCE) { listeners == 2 && coverage(store).trusted? }
    assert_equal 1, gaps(store)
  end

  def test_a_thread_that_computes_makes_a_process_late
    store = listening(machine(:one))
    computing = Thread.new { loop { nil } }
    late = -> { store.backend.near.bus.instance_variable_get(:@late) >= 3 }
    wait_until("it to notice", within: PATIENCE, &late)
    computing.kill
    wait_until("it to notice the end", within: PATIENCE) { !late.call }
  ensure
    computing&.kill
  end

  def test_each_process_with_memory_in_front_listens
    store = listening(machine(:one, front: "memory:"))
    2.times { process(:one, front: "memory:") { |other| wait_until("a seat", within: PATIENCE) { listens?(other) } } }
    assert_equal 3, listeners
    assert listens?(store)
  end

  # @param trust [Float] seconds
  def with_trust(trust, *stores)
    stores.each { |store| coverage(store).trust = trust }
    yield
    stores.each { |store| coverage(store).trust = 3 }
  end

  def test_a_server_that_stands_still_costs_no_copies
    own = Tiercel::Lab::Servers::Redis.new.start
    store = listening(machine(:one, url: own.url, error_handler: ->(**) {}))
    store.write("key", "value", expires_in: 600)
    near(store, "key", "value")
    own.pause
    with_trust(0.2, store) do
      wait_until("distrust", within: PATIENCE) { !coverage(store).trusted? }
      assert_nil store.backend.get_near("key")
    end
    covered = coverage(store).covered
    own.resume
    wait_until("trust", within: PATIENCE) { coverage(store).covered > covered && coverage(store).trusted? }
    assert_equal [1, 1], [gaps(store), listeners(own)]
    assert store.backend.get_near("key")
  ensure
    own&.stop
  end

  # The server answers "BUSY" to everything; what was changed before is sent when the script ends.
  def test_a_script_that_runs_for_long_costs_no_copies
    own = Tiercel::Lab::Servers::Redis.new(args: %w[--busy-reply-threshold 1]).start
    store = listening(machine(:one, url: own.url, error_handler: ->(**) {}))
    store.write("key", "value", expires_in: 600)
    near(store, "key", "value")
    covered = coverage(store).covered
    script = Thread.new { own.command("EVAL", "while true do end", "0") }
    with_trust(0.2, store) { wait_until("distrust", within: PATIENCE) { !coverage(store).trusted? } }
    own.command("SCRIPT", "KILL")
    wait_until("trust", within: PATIENCE) { coverage(store).covered > covered && coverage(store).trusted? }
    assert_equal [1, 1], [gaps(store), listeners(own)]
    assert store.backend.get_near("key")
  ensure
    script&.kill
    own&.stop
  end

  # Connections stay as they are; who connects from now on comes to the other server.
  def test_a_load_balancer_that_leads_new_connections_to_another_server
    servers = Array.new(2) { Tiercel::Lab::Servers::Redis.new.start }
    target = servers.first
    proxy = MovingProxy.new { target.port }
    store = listening(machine(:one, url: proxy.url))
    store.write("key", "old", expires_in: 600)
    near(store, "key", "old")
    target = servers.last
    other = Tiercel.new(target.url)
    other.write("key", "new", expires_in: 600)
    wait_until("the other server's value", within: PATIENCE) { store.read("key") == "new" }
    near(store, "key", "new")
    other.delete("key")
    wait_until("the other server to be listened to", within: PATIENCE) { store.read("key").nil? }
  ensure
    store&.close
    proxy&.stop
    servers&.each(&:stop)
  end

  def test_what_is_read_from_another_server_than_the_one_that_is_listened_to_is_not_kept
    own = Tiercel::Lab::Servers::Redis.new.start
    store = machine(:one)
    elsewhere = Tiercel::Backends::Redis.build(Tiercel::BackendURL.parse(own.url), {})
    store.backend.last.define_singleton_method(:subscription) { |*prefix| elsewhere.subscription(*prefix) }
    listening(store)
    store.write("key", "value")
    assert_nil store.backend.get_near("key")
    3.times { assert_equal "value", store.read("key") }
    assert_equal({ "key" => "value" }, store.read_multi("key"))
    assert_nil store.backend.get_near("key")
  ensure
    own&.stop
  end

  def test_where_several_servers_answer_in_turn_copies_live_a_second
    servers = Array.new(2) { Tiercel::Lab::Servers::Redis.new.start }
    turn = 0
    proxy = MovingProxy.new { servers[(turn += 1) % 2].port }
    reports = Thread::Queue.new
    store = machine(:one, url: proxy.url, error_handler: ->(exception:, **) { reports << exception })
    store.backend.near.coverage.trust = 0.1
    store.backend.near.define_singleton_method(:covered_lately?) { false } # else it waits for copies of before to end
    store.read("nothing")
    wait_until("the bus to be given up", within: PATIENCE) { store.backend.near.ttl == 1.0 }
    assert_match(/another server answers/, reports.pop(timeout: PATIENCE).message)
  ensure
    store&.close
    proxy&.stop
    servers&.each(&:stop)
  end
end
