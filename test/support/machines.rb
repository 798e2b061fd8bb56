# frozen_string_literal: true

require "tiercel"
require "active_support/cache/tiercel_store"
require "tiercel/lab/network"
require "tiercel/lab/servers"

# Simulates machines over one Redis: each has its own near segment and its own processes.
module Machines
  # One server for all tests of a class.
  module Server
    def server = @server ||= Tiercel::Lab::Servers::Redis.new.start
  end

  def self.included(test_class) = test_class.extend(Server)

  def server = self.class.server

  def setup
    dir
    @stores = []
    empty
  end

  def empty = server.command("FLUSHALL")

  def teardown
    @stores.each(&:close)
    @proxy&.stop
  end

  # @param name [Symbol] the machine
  # @return [ActiveSupport::Cache::TiercelStore] the store of one of its processes
  def machine(name, url: server.url, near: "", **options)
    shared = "shared:#{dir}/#{name}?size=4MB#{near}"
    store = ActiveSupport::Cache::TiercelStore.new(shared, url, timeout: 5, **options)
    @stores << store
    store
  end

  # @return [Tiercel::Tiers::Coverage]
  def coverage(store) = store.backend.near.coverage

  def gaps(store) = coverage(store).stats[:gaps]

  # Waits until a listener that started after a cut has discarded all copies.
  #
  # @param cut [Integer] nanoseconds; see {Tiercel::Tiers::Coverage#now}
  def listening_again(store, cut)
    wait_until("the listener to be back") { coverage(store).covered > cut }
    assert_equal 2, gaps(store)
  end

  # Whether the store has its segment. A process tries once a second to make one that was lost.
  def segment?(store)
    coverage(store).covered
    true
  rescue Tiercel::Unavailable
    false
  end

  # Waits until the store receives invalidation messages and trusts its copies.
  def listening(store)
    store.read("nothing")
    wait_until("a listener to cover its near tier") { coverage(store).trusted? }
    store
  end

  # Reads until there is a near copy. The invalidation message of the value's own write deletes its first copy.
  #
  # @param value [Object] the value that the last read must return
  def near(store, key, value)
    wait_until("a near copy of #{key}") { store.read(key) == value && store.backend.near.get(key) }
    assert_equal value, store.read(key)
  end

  # Sends commands directly to the server, but receives invalidation messages through a proxy.
  def listen_through_proxy(store)
    @proxy = Tiercel::Lab::Network::Proxy.new(server).start
    listening = Tiercel::Backends::Redis.build(Tiercel::BackendURL.parse(@proxy.url), { timeout: 5 })
    store.backend.last.define_singleton_method(:subscription) { |*prefix| listening.subscription(*prefix) }
    store
  end
end
