# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Boot
        # The stores to boot, and the number of processes.
        #
        # @!attribute [r] stores
        #   @return [Array<String>] keys of {STORES}
        # @!attribute [r] rounds
        #   @return [Integer] fresh processes of each store
        Design = Data.define(:stores, :rounds)

        class Design
          # A store to boot: the `config.cache_store` of an application, in which %{name} stands for a folder or a
          # server of the lab.
          #
          # @!attribute [r] servers
          #   @return [Array<Symbol>]
          # @!attribute [r] configuration
          #   @return [String] Ruby: the arguments of ActiveSupport::Cache.lookup_store
          Boot = Data.define(:servers, :configuration)

          STORES = {
            "memory_store" => Boot.new([], ":memory_store"),
            "file_store" => Boot.new([], ":file_store, '%{tmpfs}/files'"),
            "mem_cache_store" => Boot.new([:memcached], ":mem_cache_store, '%{memcached}'"),
            "redis_cache_store" => Boot.new([:redis], ":redis_cache_store, url: '%{redis}'"),
            "tiercel:shared:" => Boot.new([], ":tiercel_store, 'shared:%{tmpfs}/segment', { size: '64MB' }"),
            "tiercel:memory:" => Boot.new([], ":tiercel_store, 'memory:'"),
            "tiercel:file:" => Boot.new([], ":tiercel_store, 'file:%{tmpfs}/records'"),
            "tiercel:sqlite:" => Boot.new([], ":tiercel_store, 'sqlite:%{disk}/cache.sqlite3'"),
            "tiercel:memcached:" => Boot.new([:memcached], ":tiercel_store, 'memcached://%{memcached}'"),
            "tiercel:redis:" => Boot.new([:redis], ":tiercel_store, '%{redis}'")
          }.freeze
          # The baseline: the usual Rails store for several processes.
          BASELINE = "redis_cache_store"

          FULL = new(stores: STORES.keys, rounds: 20)
          QUICK = new(stores: %w[memory_store mem_cache_store redis_cache_store tiercel:shared: tiercel:memory:
                                 tiercel:redis:],
                      rounds: 8)

          # Starting a process: Ruby, its bundle and Active Support.
          PROCESS_SECONDS = 0.7

          # @return [Float] an estimate
          def expected_seconds = stores.size * rounds * PROCESS_SECONDS
        end
      end
    end
  end
end
