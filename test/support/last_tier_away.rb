# frozen_string_literal: true

require "active_support/cache/tiercel_store"
require "tiercel/backends/shared"
$LOAD_PATH.push(File.expand_path("../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"

# Stores with tiers over a server of the test's own, which is away when the test says so.
module LastTierAway
  COOL_DOWN = 0.02

  def setup
    super
    @dir = Dir.mktmpdir("tiercel-outage-")
    @server = Tiercel::Lab::Servers::Redis.new.start
    @stores = []
  end

  def teardown
    @stores.each(&:close)
    @server.stop
    FileUtils.rm_rf(@dir)
    super
  end

  def shared(name = "segment") = "shared:#{@dir}/#{name}?size=1MB&ttl=600&bus=false"

  def build(*urls, **options)
    store = ActiveSupport::Cache::TiercelStore.new(
      *urls, @server.url, error_handler: ->(**) {}, timeout: 5,
                          breaker: { failures: 1, cool_down: COOL_DOWN, max_cool_down: COOL_DOWN }, **options
    )
    @stores << store
    store
  end

  # Until the last tier has deleted what it did not receive.
  def settled(store)
    30_000.times { store.backend.pending? ? sleep(0.001) : return }
    flunk "the journal is not settled"
  end

  # The last tier deletes nothing of the journal while the block runs.
  def unsettled(*stores)
    refused = ->(keys) { keys.to_h { |key| [key, Tiercel::Refused.new("no")] } }
    stores.inject(-> { yield }) do |inner, store|
      -> { store.backend.last.stub(:delete_frames, refused) { inner.call } }
    end.call
  end

  # With the breaker open all the while: what the block does the server is not told.
  def away(store)
    breaker = store.instance_variable_get(:@settings).accessor.instance_variable_get(:@guard).breaker
    breaker.failed
    breaker.stub(:allow?, false) { yield }
  ensure
    sleep(COOL_DOWN * 1.5)
  end
end
