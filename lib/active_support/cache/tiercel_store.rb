# frozen_string_literal: true

require "active_support"
require "active_support/cache"
# active_support/cache uses these without requiring them (for its log lines), and so may options.
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
    # How to read it: a call that {Tiercel::Store::FastPath} knows is served there; every other call goes through Rails'
    # own public methods (`super`) to {Tiercel::Store::RailsHooks}, which turns entries into frames. Both ways end in
    # one {Tiercel::Accessor}, which asks the backend through the {Tiercel::Guard}. {Tiercel::Store::Settings} has the
    # parts that are fixed when a store is built.
    class TiercelStore < Store
      # Rails asks before it lets records use cache versions.
      #
      # @return [Boolean]
      def self.supports_cache_versioning? = true

      include ::Tiercel::Store::Keys
      include ::Tiercel::Store::RailsHooks
      include ::Tiercel::Store::Fetch
      include ::Tiercel::Store::EarlyFetch
      include ::Tiercel::Store::Events
      include ::Tiercel::Store::Counters
      include ::Tiercel::Store::Tags
      include ::Tiercel::Store::Maintenance
      include ::Tiercel::Store::FastPath

      # Builds a store.
      #
      # Besides the options named here it takes those that every Rails store
      # takes (`namespace`, `expires_in`, `race_condition_ttl`, `compress`,
      # `compress_threshold`, `coder`, `skip_nil`, `max_key_size`...), and those
      # of the backend, which its page in `docs/` lists.
      #
      # @param urls [Array<String, Symbol>] where the cache is; none means the shared memory of this machine,
      #   several are tiers, nearest first ({Tiercel::Tiers})
      # @param options [Hash]
      # @option options [Symbol, #dump] :serializer :auto, :marshal, :message_pack, :json, :as_json, or an
      #   object that answers to dump and load
      # @option options [Symbol, #deflate, nil] :compressor :lz4, :zstd, :snappy, :brotli, :zlib, :none, or
      #   an object that answers to deflate and inflate
      # @option options [Boolean] :marshal false: neither dump nor load anything with Marshal, and load nothing whose
      #   bytes name a class
      # @option options [Boolean] :legacy whether payloads that Rails' stores wrote are read; by default unless
      #   `marshal: false`
      # @option options [Boolean] :checksum whether frames carry a checksum of their payload; by default
      #   all but those in memory do
      # @option options [Integer, String] :inflate_limit the largest value that is decompressed, in bytes
      # @option options [#call] :error_handler called as call(method:, returning:, exception:)
      # @option options [Boolean, Hash] :breaker false, or options of the {Tiercel::Breaker}
      # @option options [Boolean] :frozen true: values of plain types come back deep-frozen; over `shared:` and
      #   `memory:` a process keeps those that it reads again, decoded, within `memo:` (docs/memo.md)
      # @option options [Boolean] :lease false: every caller computes what is not there. The other options of `fetch`,
      #   from :lease_ttl to :fetch_timeout, are in docs/fetch.md
      # @option options [Symbol] :clear :keys, or :generation where the server cannot list its keys: what `clear` with a
      #   namespace does
      # @option options [Numeric] :clear_visibility beside `clear: :generation`, seconds until all processes see it (1)
      # @option options [Boolean] :fast_path false: every call goes through Rails' own methods
      # @raise [Tiercel::ConfigurationError] for URLs and options that cannot work
      # @raise [Tiercel::MissingDependency] where a gem is not installed
      def initialize(*urls, **options)
        ::Tiercel.refuse_other_ractors
        @configuration = ::Tiercel::Configuration.new(urls, options)
        super(@configuration.rails_options)
        open_with(::Tiercel::Store::Settings.new(@configuration, -> { logger }))
      end

      # A copy is a store on the same backend; what was mounted on the original
      # alone has to be mounted on it too.
      def initialize_copy(original)
        super
        mount
      end

      # Begins anew, with what the store was built with, as a process that boots now would.
      #
      # @private
      # @param built [Hash] by identity of the settings that were: those that take their place
      # @return [true]
      def reopen(built)
        open_with(built[@settings] ||= ::Tiercel::Store::Settings.new(@configuration, -> { logger }))
        true
      end

      # @private
      # @return [Boolean] false where its building has failed
      def built? = !@settings.nil?

      # @private
      # @return [Tiercel::Configuration]
      attr_reader :configuration

      # @return [Tiercel::Backend] where the frames are kept
      def backend = @settings.backend

      # @return [String] without the values, and without passwords
      def inspect = "#<#{self.class.name} backend=#{backend} options=#{::Tiercel::Redacted.options(@options)}>"

      private

      def open_with(settings)
        @settings = settings
        @coder = settings.coder unless @configuration.coder?
        @options[:compress_threshold] = settings.compress_threshold
        mount
      end

      # State of this object alone.
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
