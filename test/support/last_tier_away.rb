# frozen_string_literal: true

require "active_support/cache/tiercel_store"
require "tiercel"
require "tiercel/lab/servers"

# Stores with tiers over the test's own server, which the test can make unreachable.
module LastTierAway
  COOL_DOWN = 1

  def setup
    super
    @server = Tiercel::Lab::Servers::Redis.new.start
    @stores = []
  end

  def teardown
    @stores.each(&:close)
    @server.stop
    super
  end

  def shared(name = "segment") = "shared:#{dir}/#{name}?size=1MB&ttl=600&bus=false"

  def build(*urls, **options)
    store = ActiveSupport::Cache::TiercelStore.new(
      *urls, @server.url, error_handler: ->(**) {}, timeout: 5,
                          breaker: { failures: 1, cool_down: COOL_DOWN, max_cool_down: COOL_DOWN }, **options
    )
    @stores << store
    store
  end

  # @return [Undelivered] the deletes that the last tier has not confirmed
  def undelivered(store) = guard(store).undelivered

  def guard(store) = store.instance_variable_get(:@settings).accessor.instance_variable_get(:@guard)

  # Prevents repeated deletes in the last tier during the block.
  def pending(*stores)
    refused = ->(keys) { keys.to_h { |key| [key, Tiercel::Refused.new("no")] } }
    stores.inject(-> { yield }) do |inner, store|
      -> { store.backend.last.stub(:delete_frames, refused) { inner.call } }
    end.call
  end

  # Keeps the breaker open during the block, so that no call reaches the server. Nothing is sent in the background.
  def away(store)
    guard = guard(store)
    guard.breaker.failed
    guard.instance_variable_set(:@failing, true) # else the guard does not ask its breaker
    guard.undelivered.instance_variable_get(:@thread).stub(:start, nil) { guard.breaker.stub(:allow?, false) { yield } }
  ensure
    guard.breaker.succeeded
  end
end
