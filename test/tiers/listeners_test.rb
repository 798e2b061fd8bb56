# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/machines"
require "support/moved_clock"
require "support/moving_proxy"

# Two processes of a machine listen to the server that answers: which ones, and how long that is valid.
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

  # @yieldparam store [ActiveSupport::Cache::TiercelStore] the store of another process of the machine
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
    questions = ->(count) { wait_until("questions", within: PATIENCE) { calls("role") >= count } }
    questions.call(asked = calls("role") + 3)
    changes = calls("set")
    questions.call(asked + 3)
    wait_until("two listeners", within: PATIENCE) { listeners == 2 }
    assert_equal [changes, 1], [calls("set"), gaps(store)]
  end

  def test_where_one_is_killed_another_one_takes_its_place
    listener = process { |store| wait_until("a seat", within: PATIENCE) { listens?(store) } }
    store = listening(machine(:one))
    wait_until("the second seat", within: PATIENCE) { listens?(store) }
    process
    kept(store, "key", "value")
    end_child(listener)
    wait_until("the third process", within: PATIENCE) { listeners == 2 && coverage(store).trusted? }
    near(store, "key", "value")
    assert_equal 1, gaps(store)
  end

  # @return [ActiveSupport::Cache::TiercelStore]
  def late_where(store, &late)
    store.backend.near.bus.define_singleton_method(:late?, &late)
    store
  end

  def test_a_process_that_waits_for_the_interpreter_gives_its_seat_to_one_that_does_not
    late = false
    store = late_where(listening(machine(:one))) { late }
    process do |other|
      late_where(other) { false }
      wait_until("a seat", within: PATIENCE) { listens?(other) }
    end
    process { |other| refute listens?(late_where(other) { false }) }
    assert listens?(store)
    late = true
    wait_until("its seat to be another's", within: PATIENCE) { !listens?(store) }
    wait_until("two listeners", within: PATIENCE) { listeners == 2 && coverage(store).trusted? }
    assert_equal 1, gaps(store)
  end

  def test_a_process_that_wakes_up_late_several_times_in_a_row_is_late
    bus = machine(:one).backend.near.bus
    time = 0.0
    sleeps = ->(count, late_by) { count.times { bus.send(:tick) { |seconds| time += seconds + late_by } } }
    turns = [[3, 0.015], [2, 0.025], [1, 0.025], [6, 0.3], [3, 0], [1, 0]]
    verdicts = Tiercel::Clock.stub(:monotonic, -> { time }) do
      turns.map { |turn| sleeps.call(*turn) && bus.send(:late?) }
    end
    assert_equal [false, false, true, true, true, false], verdicts
  end

  # `memory:` in front of `shared:` is a memo, and each read of it asks the segment.
  def test_processes_with_memory_in_front_share_two_listeners
    store = listening(machine(:one, front: "memory:"))
    2.times { process(:one, front: "memory:") { |other| assert coverage(other).trusted? } }
    wait_until("two listeners", within: PATIENCE) { listeners == 2 && coverage(store).trusted? }
  end

  # Returns once there is a copy that no late invalidation of its own write deletes.
  def kept(store, key, value, at: key)
    store.write(key, value, expires_in: 600)
    wait_until("the invalidation of the write", within: PATIENCE) { store.backend.near.get(at).nil? }
    wait_until("a copy of #{key}", within: PATIENCE) { store.read(key) == value && store.backend.near.get(at) }
  end

  # Waits longer than copies are trusted.
  def wait_for_distrust(store)
    trusted_for = 4 * Tiercel::Tiers::Coverage::NANOSECONDS
    wait_until("distrust", within: PATIENCE) { coverage(store).now - coverage(store).covered > trusted_for }
    refute coverage(store).trusted?
    assert_nil store.backend.near.get("key")
  end

  def test_a_server_that_stands_still_costs_no_copies
    own = Tiercel::Lab::Servers::Redis.new.start
    store = listening(machine(:one, url: own.url, error_handler: ->(**) {}))
    kept(store, "key", "value")
    own.pause
    wait_for_distrust(store)
    covered = coverage(store).covered
    own.resume
    wait_until("trust", within: PATIENCE) { coverage(store).covered > covered && coverage(store).trusted? }
    assert_equal [1, 1], [gaps(store), listeners(own)]
    assert store.backend.near.get("key")
  ensure
    own&.resume
    own&.stop
  end

  # The server answers "BUSY" to every command; messages about earlier changes arrive when the script ends.
  def test_a_script_that_runs_for_long_costs_no_copies
    own = Tiercel::Lab::Servers::Redis.new(args: %w[--busy-reply-threshold 1]).start
    store = listening(machine(:one, url: own.url, error_handler: ->(**) {}))
    kept(store, "key", "value")
    script = Thread.new { own.command("EVAL", "while true do end", "0") }
    wait_for_distrust(store)
    covered = coverage(store).covered
    own.command("SCRIPT", "KILL")
    wait_until("trust", within: PATIENCE) { coverage(store).covered > covered && coverage(store).trusted? }
    assert_equal [1, 1], [gaps(store), listeners(own)]
    assert store.backend.near.get("key")
  ensure
    script&.kill
    own&.stop
  end

  # Existing connections stay; new connections lead to the other server.
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
    assert_nil store.backend.near.get("key")
    3.times { assert_equal "value", store.read("key") }
    assert_equal({ "key" => "value" }, store.read_multi("key"))
    assert_nil store.backend.near.get("key")
  ensure
    own&.stop
  end

  def test_where_several_servers_answer_in_turn_copies_live_a_second
    servers = Array.new(2) { Tiercel::Lab::Servers::Redis.new.start }
    turn = 0
    proxy = MovingProxy.new { servers[(turn += 1) % 2].port }
    reports = Thread::Queue.new
    store = machine(:one, url: proxy.url, error_handler: ->(exception:, **) { reports << exception })
    store.read("nothing")
    wait_until("the bus to be given up", within: PATIENCE) { store.backend.near.ttl == 1.0 }
    assert_match(/another server answers/, reports.pop(timeout: PATIENCE).message)
  ensure
    store&.close
    proxy&.stop
    servers&.each(&:stop)
  end

  def test_the_server_sends_the_keys_of_the_namespace_alone
    store = listening(machine(:one, namespace: "app"))
    kept(store, "key", "value", at: "app:key")
    told = store.backend.near.bus.stats[:invalidations]
    Array.new(100) { |number| server.command("SET", "other:#{number}", "x") }
    server.command("SET", "app:key", "x")
    wait_until("the change of its key", within: PATIENCE) { store.backend.near.get("app:key").nil? }
    # The probe's key may expire at any time, which sends a message.
    assert_operator store.backend.near.bus.stats[:invalidations], :<=, told + 2
  end

  # A stopped machine must not use memory of everybody's server.
  def test_nothing_waits_in_the_server_for_a_process_that_is_stopped_but_its_own_keys
    stopped = process(:one, namespace: "app") { |store| wait_until("a seat", within: PATIENCE) { listens?(store) } }
    Process.kill(:STOP, stopped)
    value = "x" * 1_000
    20.times do |round|
      server.command("MSET", *Array.new(500) { |number| ["other:#{round}:#{number}" * 10, value] }.flatten)
    end
    waiting = server.command("CLIENT", "LIST", "TYPE", "pubsub").scan(/omem=(\d+)/).flatten
    assert_equal ["0"], waiting.uniq # the server may not have noticed the end of an earlier listener
  ensure
    Process.kill(:CONT, stopped) if stopped
  end

  def test_a_copy_of_another_namespace_lives_a_second
    store = listening(machine(:one, namespace: "app"))
    other = { namespace: "other", expires_in: 600 }
    kept(store, "key", "value", at: "app:key")
    store.write("key", "value", **other)
    wait_until("a copy", within: PATIENCE) do
      store.read("key", namespace: "other") && store.backend.near.get("other:key")
    end
    MovedClock.by(1.5) do
      assert store.backend.near.get("app:key")
      assert_nil store.backend.near.get("other:key")
    end
  end

  def test_stores_of_two_namespaces_have_a_segment_each
    paths = [nil, "one", "two", -> { "three" }].map do |namespace|
      store = ActiveSupport::Cache::TiercelStore.new("shared:listeners-#{Process.pid}?size=1MB", server.url, namespace:)
      @stores << store
      store.backend.near.path
    end
    assert_equal paths[0], paths[3]
    assert_equal 3, paths.uniq.size
  ensure
    paths&.uniq&.each do |path|
      FileUtils.rm_f(Dir["#{path}*"] + Dir[File.join(File.dirname(path), ".*#{File.basename(path)}*")])
    end
  end

  def test_many_keys_of_others_are_reported_where_there_is_no_namespace
    said = []
    store = listening(machine(:one))
    listener = store.backend.near.bus.instance_variable_get(:@listener)
    listener.define_singleton_method(:invalidations) { @sum = (@sum || 0) + 5_000 }
    Tiercel::Segment::Notice.stub(:warn, ->(message) { said << message }) do
      wait_until("a report", within: PATIENCE) { said.any? }
    end
    assert_match(/namespace:/, said.first)
  end

  def test_what_is_read_near_counts_as_used_where_the_server_evicts_by_use
    own = Tiercel::Lab::Servers::Redis.new(maxmemory: "64mb", policy: "allkeys-lfu").start
    own.command("CONFIG", "SET", "lfu-log-factor", "0")
    store = listening(machine(:one, url: own.url))
    kept(store, "key", "value")
    used = -> { Integer(own.command("OBJECT", "FREQ", "key")) }
    before = used.call
    wait_until("uses", within: PATIENCE) do
      assert store.backend.near.get("key")
      used.call > before
    end
  ensure
    own&.stop
  end
end
