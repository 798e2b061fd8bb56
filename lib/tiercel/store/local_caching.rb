# frozen_string_literal: true

require "active_support/cache/strategy/local_cache"

module Tiercel
  module Store
    # The methods of a store where Rails' request-local cache pays in front of its backend: those of
    # ActiveSupport::Cache::Strategy::LocalCache with which it is set up and taken down. What it then does is
    # {Accessors::RequestLocal}'s. A copy of a store has the same local cache as its original: both write to the same
    # backend.
    module LocalCaching
      STRATEGY = ActiveSupport::Cache::Strategy::LocalCache
      private_constant :STRATEGY

      # Remembers what the block reads and writes until it ends; within another such block, instead of that one.
      #
      # @return [Object] the block's value
      def with_local_cache(&) = use_temporary_local_cache(STRATEGY::LocalStore.new, &)

      # Begins to remember, as the middleware does for a request.
      #
      # @return [void]
      def new_local_cache
        @settings.request_local.current = STRATEGY::LocalStore.new
      end

      # Forgets all, and remembers nothing more.
      #
      # @return [void]
      def unset_local_cache
        @settings.request_local.current = nil
      end

      # @return [ActiveSupport::Cache::Strategy::LocalCache::LocalStore, nil] what is remembered at the moment
      def local_cache = @settings.request_local.current

      # Rails mounts it into the application's stack. It tells the store when a request begins and ends; on Rails 7.2
      # and 8.0 it asks for the name of the local cache instead, and does so itself.
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
