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
  autoload :Accessor, "tiercel/accessor"
  autoload :AssetBuild, "tiercel/asset_build"
  autoload :Backend, "tiercel/backend"
  autoload :BackendURL, "tiercel/backend_url"
  autoload :Backends, "tiercel/backends"
  autoload :BackgroundThread, "tiercel/background_thread"
  autoload :Breaker, "tiercel/breaker"
  autoload :Cipher, "tiercel/cipher"
  autoload :Clock, "tiercel/clock"
  autoload :Coder, "tiercel/coder"
  autoload :Compressors, "tiercel/compressors"
  autoload :Configuration, "tiercel/configuration"
  autoload :Counter, "tiercel/counter"
  autoload :DeepFreeze, "tiercel/deep_freeze"
  autoload :Extensions, "tiercel/extensions"
  autoload :Fetch, "tiercel/fetch"
  autoload :FetchPolicy, "tiercel/fetch_policy"
  autoload :FileLock, "tiercel/file_lock"
  autoload :Forks, "tiercel/forks"
  autoload :Fragments, "tiercel/fragments"
  autoload :Frame, "tiercel/frame"
  autoload :FreeSpace, "tiercel/free_space"
  autoload :Guard, "tiercel/guard"
  autoload :GuardLog, "tiercel/guard_log"
  autoload :KeyMask, "tiercel/key_mask"
  autoload :KeyPattern, "tiercel/key_pattern"
  autoload :Leases, "tiercel/leases"
  autoload :LegacyPayload, "tiercel/legacy_payload"
  autoload :Memo, "tiercel/memo"
  autoload :ModelTags, "tiercel/model_tags"
  autoload :Observer, "tiercel/observer"
  autoload :OneLine, "tiercel/one_line"
  autoload :Options, "tiercel/options"
  autoload :OptionalGems, "tiercel/optional_gems"
  autoload :Ownership, "tiercel/ownership"
  autoload :Places, "tiercel/places"
  autoload :Redacted, "tiercel/redacted"
  autoload :Registry, "tiercel/registry"
  autoload :ReportLimit, "tiercel/report_limit"
  autoload :Reports, "tiercel/reports"
  autoload :Runtime, "tiercel/runtime"
  autoload :Serializers, "tiercel/serializers"
  autoload :Sizes, "tiercel/sizes"
  autoload :Store, "tiercel/store"
  autoload :TestWorker, "tiercel/test_worker"
  autoload :Tiers, "tiercel/tiers"
  autoload :Undelivered, "tiercel/undelivered"

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

  # Some need gems, or other parts of Rails.
  ON_DEMAND = %i[Backends Cipher Compressors Fragments Insight Lab ModelTags Railtie Serializers TestWorker].freeze
  private_constant :ON_DEMAND

  # Loads what every store runs, so that the workers of a forking server share it. In a Rails application with a
  # store of ours and `config.eager_load` the boot calls it.
  #
  # @return [void]
  def self.eager_load!(namespace = self)
    (namespace.constants(false) - ON_DEMAND).each do |name|
      part = namespace.const_get(name)
      eager_load!(part) if part.is_a?(Module) && part.to_s == "#{namespace}::#{name}"
    end
  end

  # @private
  # @return [Boolean] whether the process has a store of ours: an application with another store loads nothing of it
  def self.store_loaded? = defined?(ActiveSupport::Cache::TiercelStore) ? true : false

  # @private
  def self.refuse_other_ractors
    return if Ractor.current == Ractor.main
    raise ConfigurationError, "a store is built in the main Ractor: build it there; over `shared:`, " \
                              "Ractor.make_shareable makes it usable in the others"
  end
end

require_relative "tiercel/codec" # fails at once, and not in a call, if the extension was not built
require_relative "tiercel/railtie" if defined?(Rails::Railtie)
