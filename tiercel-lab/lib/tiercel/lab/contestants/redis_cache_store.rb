# frozen_string_literal: true

require_relative "../contestant"
require_relative "../distance"

module Tiercel
  module Lab
    module Contestants
      # ActiveSupport::Cache::RedisCacheStore, to a Redis that the lab starts, or to a redis:// URL.
      class RedisCacheStore < Contestant
        def medium = Distance.medium(place)

        def gems = %w[redis]

        def servers = foreign? ? [] : %i[redis]

        def foreign? = !place.empty?

        def build(context)
          url = foreign? ? place : context.server(:redis).fetch("url")
          # A read that failed must be seen, not be a miss.
          ActiveSupport::Cache::RedisCacheStore.new(
            url:, error_handler: ->(exception:, **) { raise exception }, **options
          )
        end

        def configuration
          configuration_line(":redis_cache_store", "url: #{(foreign? ? place : "redis://HOST:6379/0").inspect}")
        end
      end

      register "redis_cache_store", RedisCacheStore
    end
  end
end
