# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/listening_processes"
require "support/moving_proxy"

# Two processes of a machine listen to the server that answers: which ones, and how long that is valid.
class TiersListenersTest < Tiercel::TestCase
  include ListeningProcesses

  def test_two_of_nine_processes_listen_and_no_key_is_changed_for_it
    store = listening(patient(:one))
    8.times { process { |other| wait_until("trust") { coverage(other).trusted? } } }
    questions = ->(count) { wait_until("questions") { calls("role") >= count } }
    questions.call(asked = calls("role") + 3)
    changes = calls("set")
    questions.call(asked + 3)
    wait_until("two listeners") { listeners == 2 }
    assert_equal [changes, 1], [calls("set"), gaps(store)]
  end

  def test_where_one_is_killed_another_one_takes_its_place
    listener = process { |store| wait_until("a seat") { listens?(store) } }
    store = listening(patient(:one))
    wait_until("the second seat") { listens?(store) }
    process
    kept(store, "key", "value")
    end_child(listener)
    wait_until("the third process") { listeners == 2 && coverage(store).trusted? }
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
    store = late_where(listening(patient(:one))) { late }
    process do |other|
      late_where(other) { false }
      wait_until("a seat") { listens?(other) }
    end
    process { |other| refute listens?(late_where(other) { false }) }
    assert listens?(store)
    late = true
    wait_until("its seat to be another's") { !listens?(store) }
    wait_until("two listeners") { listeners == 2 && coverage(store).trusted? }
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

  # @param stop [Proc] stops the server for longer than copies are trusted, until `go_on`
  def assert_costs_no_copies(own, stop, go_on)
    store = listening(machine(:one, url: own.url, error_handler: ->(**) {}))
    kept(store, "key", "value")
    stop.call
    trusted_for = 4 * Tiercel::Tiers::Coverage::NANOSECONDS
    wait_until("distrust") { coverage(store).now - coverage(store).covered > trusted_for }
    refute coverage(store).trusted?
    assert_nil store.backend.near.get("key")
    covered = coverage(store).covered
    go_on.call
    wait_until("trust") { coverage(store).covered > covered && coverage(store).trusted? }
    assert_equal [1, 1], [gaps(store), listeners(own)]
    wait_until("the copy") { store.backend.near.get("key") }
  end

  def test_a_server_that_stands_still_costs_no_copies
    own = Tiercel::Lab::Servers::Redis.new.start
    assert_costs_no_copies(own, -> { own.pause }, -> { own.resume })
  ensure
    own&.resume
    own&.stop
  end

  # The server answers "BUSY" to every command; messages about earlier changes arrive when the script ends.
  def test_a_script_that_runs_for_long_costs_no_copies
    own = Tiercel::Lab::Servers::Redis.new(args: %w[--busy-reply-threshold 1]).start
    script = nil
    running = -> { script = Thread.new { own.command("EVAL", "while true do end", "0") } }
    assert_costs_no_copies(own, running, -> { own.command("SCRIPT", "KILL") })
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
    other = Tiercel.new(target.url, timeout: 20)
    other.write("key", "new", expires_in: 600)
    wait_until("the other server's value") { store.read("key") == "new" }
    near(store, "key", "new")
    other.delete("key")
    wait_until("the other server to be listened to") { store.read("key").nil? }
  ensure
    store&.close
    proxy&.stop
    servers&.each(&:stop)
  end

  def test_what_is_read_from_another_server_than_the_one_that_is_listened_to_is_not_kept
    own = Tiercel::Lab::Servers::Redis.new.start
    store = machine(:one)
    elsewhere = Tiercel::Backends::Redis.build(Tiercel::BackendURL.parse(own.url), { timeout: 5 })
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
    wait_until("the bus to be given up") { store.backend.near.ttl == 1.0 }
    assert_match(/another server answers/, reports.pop(timeout: 30).message)
  ensure
    store&.close
    proxy&.stop
    servers&.each(&:stop)
  end
end
