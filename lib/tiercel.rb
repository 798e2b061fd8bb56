# frozen_string_literal: true

require "active_support"
require "active_support/cache"

require_relative "tiercel/version"
require_relative "tiercel/errors"

# A cache store for Ruby and Rails over shared memory, per-process memory, SQLite, files, memcached and Redis.
#
#   cache = Tiercel.new("memory:", size: "64MB")
#   cache.fetch("city") { "Duckburgh" }
module Tiercel
  # The name of a file follows from that of its constant.
  %i[
    Accessor Backend BackendURL Backends BackgroundThread Breaker Cipher Clock Coder Compressors Configuration
    Counter DeepFreeze Extensions Fetch FetchPolicy FileLock Forks Fragments Frame Guard GuardLog KeyMask
    KeyPattern Leases Memo ModelTags OneLine Options OptionalGems Ownership Places Redacted Registry
    ReportLimit Reports Runtime Serializers Sizes Store TestWorker Tiers Undelivered
  ].each { |name| autoload name, "tiercel/#{name.to_s.gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase}" }

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

  # Constants that {eager_load!} leaves out. Some of them need gems, or other parts of Rails.
  ON_DEMAND = %i[Backends Cipher Compressors Fragments Insight Lab ModelTags Railtie Serializers TestWorker].freeze
  private_constant :ON_DEMAND

  # Loads the code that every store runs, so that the workers of a forking server share it. The boot of a Rails
  # application calls this method if the application has a Tiercel store and `config.eager_load`.
  #
  # @return [void]
  def self.eager_load!(namespace = self)
    (namespace.constants(false) - ON_DEMAND).each do |name|
      part = namespace.const_get(name)
      eager_load!(part) if part.is_a?(Module) && part.to_s == "#{namespace}::#{name}"
    end
  end

  # @private
  # @return [Boolean] whether the process has loaded Tiercel's store; an application with another store does not
  def self.store_loaded? = defined?(ActiveSupport::Cache::TiercelStore) ? true : false

  # @private
  def self.refuse_other_ractors
    return if Ractor.current == Ractor.main
    raise ConfigurationError, "a store is built in the main Ractor: build it there; over `shared:`, " \
                              "Ractor.make_shareable makes it usable in the others"
  end
end

require_relative "tiercel/codec"
Tiercel::Extensions.load("codec") # fails at once, and not in a call, if the extension was not built
require_relative "tiercel/railtie" if defined?(Rails::Railtie)
