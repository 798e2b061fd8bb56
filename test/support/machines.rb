# frozen_string_literal: true

require "tiercel/tiers"
require "active_support/cache/tiercel_store"
$LOAD_PATH.push(File.expand_path("../../tiercel-lab/lib", __dir__))
require "tiercel/lab/network"
require "tiercel/lab/servers"

# Machines with a near tier each, over one Redis: segments of their own, and processes that use them.
module Machines
  # The bound for an event of 100 ms, on a busy machine.
  SOON = 0.5

  # One server for all tests of a class.
  module Server
    def server = @server ||= Tiercel::Lab::Servers::Redis.new.start
  end

  def self.included(test_class) = test_class.extend(Server)

  def server = self.class.server

  def setup
    @directory = Dir.mktmpdir("tiercel-machines-")
    @stores = []
    empty
  end

  def empty = server.command("FLUSHALL")

  def teardown
    @stores.each(&:close)
    @proxy&.stop
    FileUtils.rm_rf(@directory)
  end

  # @param name [Symbol] of the machine
  # @return [ActiveSupport::Cache::TiercelStore] of one process there
  def machine(name, url: server.url, near: "", front: nil, **options)
    shared = "shared:#{@directory}/#{name}?size=4MB#{near}"
    store = ActiveSupport::Cache::TiercelStore.new(*front, shared, url, timeout: 5, **options)
    @stores << store
    store
  end

  # @return [Tiercel::Tiers::Coverage] of its farthest near tier
  def coverage(store)
    tiers = store.backend
    tiers = tiers.far while tiers.far.is_a?(Tiercel::Tiers)
    tiers.near.coverage
  end

  def gaps(store) = coverage(store).stats[:gaps]

  # Until somebody listens who has begun after a cut, and has put all copies away.
  #
  # @param cut [Integer] nanoseconds; see {Tiercel::Tiers::Coverage#now}
  def listening_again(store, cut, within: 5)
    wait_until("the listener to be back", within:) { coverage(store).covered > cut }
    assert_equal 2, gaps(store)
  end

  # Until it hears of changes, and copies are trusted.
  def listening(store)
    store.read("nothing")
    wait_until("a listener to cover its near tier") { coverage(store).trusted? }
    store
  end

  # Reads until there is a copy: one of a value just written goes with the echo of its write.
  #
  # @param value [Object] what is read then, in the end
  def near(store, key, value)
    wait_until("a near copy of #{key}") { store.read(key) == value && store.backend.get_near(key) }
    assert_equal value, store.read(key)
  end

  # Commands go to the server as ever, what it has to tell comes through a proxy.
  def listen_through_proxy(store)
    @proxy = Tiercel::Lab::Network::Proxy.new(server).start
    listening = Tiercel::Backends::Redis.build(Tiercel::BackendURL.parse(@proxy.url), {})
    store.backend.last.define_singleton_method(:subscription) { |*prefix| listening.subscription(*prefix) }
    store
  end
end
