# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/machines"

# A process that calls `listen` to receive invalidation messages although it reads nothing.
class TiersListenTest < Tiercel::TestCase
  include Machines

  # Puma's master listens for its workers like this.
  def test_an_idle_process_that_reads_nothing_listens_for_a_busy_one
    store = listening(listen_through_proxy(machine(:one)))
    ready, go = IO.pipe
    child = Process.fork do
      own = machine(:one)
      go.write(own.listen ? "x" : "-")
      sleep
    ensure
      exit!
    end
    assert_equal "x", ready.readchar
    wait_until("the child to listen") { server.command("CLIENT", "LIST", "TYPE", "pubsub").scan("id=").size >= 2 }
    @proxy.change(hold: true) # as if the process' own listener never ran
    store.write("key", "old")
    near(store, "key", "old")
    server.command("DEL", "key")
    wait_until("the child to put the copy away") { store.backend.near.get("key").nil? }
  ensure
    child && Process.kill(:KILL, child) && Process.wait(child)
    [ready, go].each { |io| io&.close }
  end

  def test_who_is_told_of_changes
    before = Thread.list
    store = machine(:one)
    assert_equal [true, true], Array.new(2) { store.listen }
    wait_until("it to listen, though nothing was read") { store.stats[:tiers].values.first[:bus][:listening] }
    assert((Thread.list - before).select { |thread| thread.name&.start_with?("tiercel ") }.all? { |thread|
      thread.thread_variable_get(:fork_safe)
    }, "Puma warns of all other threads when it forks")
    others = [Tiercel.new("memory:"), Tiercel.new("memory:", server.url, timeout: 20),
              Tiercel.new("shared:#{dir}/two?size=4MB", "sqlite:#{dir}/cache.sqlite3"),
              machine(:three, near: "&bus=false")]
    assert_equal [false, true, false, false], others.map(&:listen)
  ensure
    others&.each(&:close)
  end
end
