# frozen_string_literal: true

require "active_support/cache/strategy/local_cache"

module Tiercel
  module Store
    # Methods for stores that use Rails' request-local cache: they begin and end it, like the methods of
    # ActiveSupport::Cache::Strategy::LocalCache. {Accessors::RequestLocal} reads and writes it. A copy of a store
    # shares the local cache of its original, because both write to the same backend.
    module LocalCaching
      STRATEGY = ActiveSupport::Cache::Strategy::LocalCache
      private_constant :STRATEGY

      # Remembers the block's reads and writes until the block ends. A nested block begins with an empty cache.
      #
      # @return [Object] the block's value
      def with_local_cache(&) = use_temporary_local_cache(STRATEGY::LocalStore.new, &)

      # Begins a local cache, as the middleware does at the beginning of a request.
      #
      # @return [void]
      def new_local_cache
        @settings.request_local.current = STRATEGY::LocalStore.new
      end

      # Ends the local cache.
      #
      # @return [void]
      def unset_local_cache
        @settings.request_local.current = nil
      end

      # @return [ActiveSupport::Cache::Strategy::LocalCache::LocalStore, nil] the current local cache
      def local_cache = @settings.request_local.current

      # Rails adds this middleware to the application's stack. It calls the store when a request begins and ends. On
      # Rails 7.2 and 8.0 it instead takes the name of the local cache, and begins and ends the cache itself.
      #
      # @return [ActiveSupport::Cache::Strategy::LocalCache::Middleware]
      def middleware
        told = STRATEGY.method_defined?(:new_local_cache) ? self : local_cache_key
        @middleware ||= STRATEGY::Middleware.new(STRATEGY.name, told)
      end

      private

      def local_cache_key = @settings.request_local.registry_key

      def bypass_local_cache(&) = use_temporary_local_cache(nil, &)

      def use_temporary_local_cache(temporary)
        request_local = @settings.request_local
        saved = request_local.current
        request_local.current = temporary
        yield
      ensure
        request_local.current = saved
      end
    end
  end
end
