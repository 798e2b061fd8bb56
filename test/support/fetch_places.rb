# frozen_string_literal: true

require "active_support/cache/tiercel_store"
require "tiercel/lab/servers"

# The backends on which the guarantees of `fetch` are tested, and timeouts for a busy machine.
module FetchPlaces
  Servers = Tiercel::Lab::Servers

  def self.memcached = @memcached ||= Servers::Memcached.new.start
  def self.redis = @redis ||= Servers::Redis.new.start

  URLS = {
    memory: ->(_) { "memory:" },
    shared: ->(dir) { "shared:#{dir}/segment?size=16MB" },
    sqlite: ->(dir) { "sqlite:#{dir}/cache.sqlite3" },
    file: ->(dir) { "file:#{dir}/cache" },
    memcached: ->(_) { memcached.url },
    redis: ->(_) { redis.url },
  }.freeze
  # Backends that processes share.
  SHARED = %i[shared sqlite file memcached redis].freeze

  WITH_TIMEOUT = %i[sqlite file memcached redis].freeze
  # A longer timeout than the default, in seconds, for a machine that is busy with other tests.
  PATIENCE = { timeout: 20 }.freeze

  # @param place [Symbol] a key of {URLS}
  # @param dir [String] a folder for its files
  # @return [ActiveSupport::Cache::TiercelStore]
  def self.build(place, dir, **options)
    patience = WITH_TIMEOUT.include?(place) ? PATIENCE : {}
    ActiveSupport::Cache::TiercelStore.new(URLS.fetch(place).call(dir), **patience, **options)
  end

  # For tests of a contract over one of {URLS} (`place`).
  module Place
    def setup
      super
      dir
      store.backend.clear unless place == :memory
    end

    # All stores of one test share their data; with private memory they share one backend.
    def build_store(**)
      built = FetchPlaces.build(place, dir, **)
      return built unless place == :memory
      @memory ||= built.backend
      built.backend.equal?(@memory) || skip("memory: is of one store")
      built
    end

    def across_processes? = place != :memory
  end
end
