# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/object/with"
require "contracts/store_contract"
require "support/heard_calls"
require "support/store_places"
require "tiercel/lab/servers"

# The contract of the store over servers.
module StoreContractRemoteTests
  # Servers shared by all tests of this file; each test clears them.
  module Servers
    def self.memcached = @memcached ||= Tiercel::Lab::Servers::Memcached.new.start
    def self.redis = @redis ||= Tiercel::Lab::Servers::Redis.new.start
  end

  # Longer than the default, for a machine that is busy with other tests.
  TIMEOUT_SECONDS = 20

  module Place
    include Tiercel::Contracts::StoreContract

    def setup
      super
      cleared = build_store(namespace: nil)
      cleared.backend.clear
      cleared.close
    end

    def build_store(**options)
      ActiveSupport::Cache::TiercelStore.new(server.url, timeout: TIMEOUT_SECONDS, **options)
    end

    def build_peer(_store, **options) = build_store(**options)
  end

  module InMemcached
    include Place
    def server = Servers.memcached
  end

  # With subscribers and a logger.
  module InRedis
    include Place
    include HeardCalls
    def server = Servers.redis
  end

  # On another version of Rails, one server is enough: Rails' own code does not know which one it is.
  StorePlaces.define(self, "Redis" => InRedis)
  StorePlaces.define(self, "Memcached" => InMemcached) if ActiveSupport.version >= Gem::Version.new("8.1")
end
