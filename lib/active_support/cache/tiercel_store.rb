# frozen_string_literal: true

require "active_support"
require "active_support/cache"
# active_support/cache uses these files in its log lines without requiring them. Values of options may use them too.
require "active_support/core_ext/object/blank"
require "active_support/duration"
require "tiercel"
require "tiercel/store"

module ActiveSupport
  module Cache
    # A cache store over one of Tiercel's backends.
    #
    #   config.cache_store = :tiercel_store                                  # shared memory of this machine
    #   config.cache_store = :tiercel_store, "shared:", { size: "1GB" }
    #   config.cache_store = :tiercel_store, "redis://cache:6379/0", { pool: { size: 10 } }
    #   config.cache_store = :tiercel_store, "shared:", "sqlite:storage/cache.sqlite3"       # tiers, nearest first
    #
    # {Tiercel::Store::FastPath} serves the common calls. Every other call goes through Rails' own public methods
    # (`super`) to {Tiercel::Store::RailsHooks}, which turns entries into frames. Both paths end in one
    # {Tiercel::Accessor}, which calls the backend through the {Tiercel::Guard}. {Tiercel::Store::Settings} has the
    # parts that are fixed when a store is built.
    class TiercelStore < Store
      # Rails checks this method before it uses the cache versions of records.
      #
      # @return [Boolean]
      def self.supports_cache_versioning? = true

      include ::Tiercel::Store::Keys
      include ::Tiercel::Store::RailsHooks
      include ::Tiercel::Store::Fetching
      include ::Tiercel::Store::Events
      include ::Tiercel::Store::Counters
      include ::Tiercel::Store::Tags
      include ::Tiercel::Store::CompareAndSet
      include ::Tiercel::Store::Maintenance
      include ::Tiercel::Store::FastPath

      # Builds a store.
      #
      # Accepts the options below, those of every Rails store (`namespace`, `expires_in`, `race_condition_ttl`,
      # `compress`, `compress_threshold`, `coder`, `skip_nil`, `max_key_size`...), and those of the backend, which its
      # page in `docs/` lists.
      #
      # @param urls [Array<String, Symbol>] the backend's URL. Without a URL the store uses the shared memory of this
      #   machine; several URLs are tiers, nearest first ({Tiercel::Tiers})
      # @param options [Hash]
      # @option options [Symbol, #dump] :serializer :auto, :marshal, :message_pack, :json, :as_json, or an object with
      #   the methods dump and load
      # @option options [Symbol, #deflate, nil] :compressor :lz4, :zstd, :snappy, :brotli, :zlib, :none, or an object
      #   with the methods deflate and inflate
      # @option options [Boolean] :marshal false: the store neither dumps nor loads with Marshal, and rejects entries
      #   whose bytes name a class
      # @option options [Boolean] :checksum whether frames contain a checksum of their payload; by default all frames
      #   do, except those in memory and in SQLite
      # @option options [Integer, String] :inflate_limit the largest value that is decompressed, in bytes
      # @option options [#call] :error_handler called as call(method:, returning:, exception:)
      # @option options [Boolean, Hash] :breaker false, or options of the {Tiercel::Breaker}
      # @option options [Boolean] :frozen true: the store returns deep-frozen values of plain types. Over `shared:` and
      #   `memory:` each process keeps decoded values that it reads again, within `memo:` (docs/memo.md)
      # @option options [Boolean] :lease false: every caller that misses computes the value. docs/fetch.md describes the
      #   other options of `fetch`
      # @option options [Symbol] :clear how `clear` removes a namespace: :keys deletes its keys; :generation is for
      #   servers that cannot list their keys
      # @option options [Numeric] :clear_visibility with `clear: :generation`, seconds until all processes see a `clear`
      #   (1)
      # @option options [Boolean] :fast_path false: every call goes through Rails' own methods
      # @raise [Tiercel::ConfigurationError] for URLs and options that cannot work
      # @raise [Tiercel::MissingDependency] if a gem is not installed
      def initialize(*urls, **options)
        ::Tiercel.refuse_other_ractors
        @configuration = ::Tiercel::Configuration.new(urls, options)
        super(@configuration.rails_options)
        open_with(::Tiercel::Store::Settings.new(@configuration, -> { logger }))
      end

      # A copy uses the same backend. Its modules have to be mounted again, because they extend only the original
      # object.
      def initialize_copy(original)
        super
        mount
      end

      # Rebuilds the store from its configuration, as a newly booted process would.
      #
      # @private
      # @param built [Hash] new settings by old settings, compared by identity; stores that shared settings share the
      #   new ones
      # @return [true]
      def reopen(built)
        open_with(built[@settings] ||= ::Tiercel::Store::Settings.new(@configuration, -> { logger }))
        true
      end

      # @private
      # @return [Boolean] false if `initialize` failed
      def built? = !@settings.nil?

      # @private
      # @return [Tiercel::Configuration]
      attr_reader :configuration

      # @return [Tiercel::Backend] the backend that stores the frames
      def backend = @settings.backend

      # @return [String] a description without values and passwords
      def inspect = "#<#{self.class.name} backend=#{backend} options=#{::Tiercel::Redacted.options(@options)}>"

      private

      def open_with(settings)
        @settings = settings
        @coder = settings.coder unless @configuration.coder?
        @options[:compress_threshold] = settings.compress_threshold
        mount
      end

      # Extends this object with the modules that its settings need.
      def mount
        extend ::Tiercel::Store::LocalCaching if @settings.request_local
        worker = ::Tiercel::TestWorker.namespace(@configuration.url)
        ::Tiercel::Store::WorkerKeys.extend_store(self, worker) if worker
        extend ::Tiercel::Store::NamespaceGenerations if @settings.namespaces
        namespace = @options[:namespace]
        backend.prefix = key_prefix(@options) unless namespace.respond_to?(:call)
        start_fast_path
      end
    end

    ::Tiercel::TestWorker.store_class = TiercelStore
  end
end
