# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/object/with"
require "contracts/store_contract"
require "support/store_places"
require "tiercel/lab/servers"

# The contract of the store over tiers.
module TiersStoreContractTests
  module Stack
    include Tiercel::Contracts::StoreContract
    def build_store(**options)
      ActiveSupport::Cache::TiercelStore.new(*urls, timeout: 20, **options)
    end

    def shared = "shared:#{dir}/segment?size=16MB"
  end

  # A memo of 8 MB in each process.
  module SharedAndSQLite
    include Stack
    def urls = ["#{shared}&memo=8MB", "sqlite:#{dir}/cache.sqlite3"]
    def build_peer(_store, **options) = build_store(**options)
  end

  # Other processes' copies in memory live for the near tier's TTL, so they are not tested here.
  module MemoryAndRedis
    include Stack

    def self.server = @server ||= Tiercel::Lab::Servers::Redis.new.start

    def setup
      super
      store = build_store(namespace: nil)
      store.backend.clear
      store.close
    end

    def urls = ["memory:", MemoryAndRedis.server.url]
  end

  StorePlaces.define(self, "SharedAndSQLite" => SharedAndSQLite, "MemoryAndRedis" => MemoryAndRedis)
end
