# frozen_string_literal: true

require "support/machines"

# Several processes of a machine that listen to one Redis.
module ListeningProcesses
  include Machines

  def self.included(test_class) = Machines.included(test_class)

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

  # Trusts copies for a minute, so a listener that the machine has stopped leaves no gap.
  def patient(...) = machine(...).tap { |store| coverage(store).trust = 60 }

  # @yieldparam store [ActiveSupport::Cache::TiercelStore] the store of another process of the machine
  def process(name = :one, **options)
    ready, go = IO.pipe
    parent = Process.pid
    @children << pid = Process.fork do
      ready.close
      store = patient(name, **options)
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

  # Returns once there is a copy that no late invalidation of its own write deletes. The coverage moves past the write
  # when a listener has received all messages about it.
  def kept(store, key, value, at: key)
    store.write(key, value, expires_in: 600)
    written = coverage(store).now
    wait_until("the invalidation of the write") { coverage(store).covered > written }
    wait_until("a copy of #{key}") { store.read(key) == value && store.backend.near.get(at) }
  end
end
