# frozen_string_literal: true

require "active_support"
require "active_support/cache"

require_relative "tiercel/version"
require_relative "tiercel/errors"
require_relative "tiercel/clock"
require_relative "tiercel/counter"
require_relative "tiercel/registry"
require_relative "tiercel/sizes"
require_relative "tiercel/backend_url"
require_relative "tiercel/backend"
require_relative "tiercel/backends"
require_relative "tiercel/guard"
require_relative "tiercel/frame"
require_relative "tiercel/coder"

# A cache store for Ruby and Rails over shared memory, per-process memory, SQLite, files, memcached and Redis.
#
#   cache = Tiercel.new("memory:", size: "64MB")
#   cache.fetch("city") { "Duckburgh" }
module Tiercel
  autoload :Cipher, "tiercel/cipher" # loads OpenSSL
  autoload :Fragments, "tiercel/fragments"
  autoload :ModelTags, "tiercel/model_tags"

  # Builds a store, like `ActiveSupport::Cache.lookup_store(:tiercel_store, *urls, **options)`.
  #
  # @param urls [Array<String, Symbol>] the cache's location, for example "shared:app"
  # @param options [Hash] see {ActiveSupport::Cache::TiercelStore#initialize}
  # @return [ActiveSupport::Cache::TiercelStore]
  # @raise [ConfigurationError] for invalid URLs and options
  def self.new(*urls, **options)
    refuse_other_ractors
    require "active_support/cache/tiercel_store"
    ActiveSupport::Cache::TiercelStore.new(*urls, **options)
  end

  # @private
  def self.refuse_other_ractors
    return if Ractor.current == Ractor.main
    raise ConfigurationError, "a store works in the main Ractor only: build and use it there, and send values to others"
  end
end

require_relative "tiercel/railtie" if defined?(Rails::Railtie)
