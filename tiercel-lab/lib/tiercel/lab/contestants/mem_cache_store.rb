# frozen_string_literal: true

require_relative "../contestant"
require_relative "../distance"

module Tiercel
  module Lab
    module Contestants
      # ActiveSupport::Cache::MemCacheStore over dalli, to a memcached that the lab starts, or to HOST:PORT[,HOST:PORT].
      class MemCacheStore < Contestant
        # memcached refuses larger values; the lab starts its own with room for every value of its own.
        LARGEST_BYTES = 8 * 1024 * 1024

        def medium = Distance.medium(place)

        def gems = %w[dalli]

        def servers = foreign? ? [] : %i[memcached]

        def foreign? = !place.empty?

        def build(context)
          addresses = foreign? ? place.split(",") : [context.server(:memcached).fetch("address")]
          # Dalli checks the size before it sends.
          ActiveSupport::Cache::MemCacheStore.new(*addresses, value_max_bytes: LARGEST_BYTES, **options)
        end

        def configuration = configuration_line(":mem_cache_store", (foreign? ? place : "HOST:11211").inspect)
      end

      # The same without a word about sizes to either side: 64 MB of memory, items of at most 1 MB. What is larger is
      # refused, so its reads miss.
      class MemCacheStoreAsShipped < MemCacheStore
        def medium = :loopback

        def servers = %i[memcached_as_shipped]

        def foreign? = false

        def build(context)
          ActiveSupport::Cache::MemCacheStore.new(context.server(:memcached_as_shipped).fetch("address"), **options)
        end
      end

      register "mem_cache_store", MemCacheStore
      register "mem_cache_store_as_shipped", MemCacheStoreAsShipped
    end
  end
end
