# frozen_string_literal: true

require_relative "../accessor"
require_relative "../observer"
require_relative "reader"
require_relative "writer"

module Tiercel
  module Store
    # The parts and options of a store, fixed once it is built. The modules of {Store} and copies of the store share
    # them, in `@settings`.
    #
    # @private
    class Settings
      # @return [Backend] the backend that stores the frames
      attr_reader :backend
      # @return [Accessor] every call of the backend goes through this object
      attr_reader :accessor
      # @return [Accessors::RequestLocal, nil] the same accessor, if the store uses Rails' request-local cache
      attr_reader :request_local
      # @return [Reader]
      attr_reader :reader
      # @return [Writer]
      attr_reader :writer
      # @return [FallbackLog]
      attr_reader :fallbacks
      # @return [Coder] encodes and decodes the frames
      attr_reader :coder
      # @return [Integer, false] bytes; false for no limit
      attr_reader :max_key_bytes
      # @return [Integer] size in bytes from which a payload is compressed
      attr_reader :compress_threshold
      # @return [Boolean] whether reads return deep-frozen values of plain types
      attr_reader :frozen_values
      # @return [Guard]
      attr_reader :guard
      # @return [Leases] leases of the backend
      attr_reader :leases
      # @return [FetchPolicy] the default, which the options of a call can change
      attr_reader :policy
      # @return [Tiercel::Fetch]
      attr_reader :fetch
      # @return [Tags::Generations]
      attr_reader :generations
      # @return [NamespaceGenerations::Table, nil] nil without `clear: :generation`
      attr_reader :namespaces
      # @return [Boolean] false with `fast_path: false`
      attr_reader :fast_path

      # @param configuration [Configuration]
      # @param logger [#call] returns the store's Logger, or nil
      # @raise [ConfigurationError]
      # @raise [MissingDependency]
      def initialize(configuration, logger)
        @backend = configuration.build_backend
        @coder = configuration.frame_coder(@backend)
        @max_key_bytes = configuration.max_key_size
        @compress_threshold = configuration.compress_threshold(@backend)
        @frozen_values = configuration.frozen_values?
        @fast_path = configuration.fast_path?
        @guard = @backend.build_guard(logger:, **configuration.guard_options)
        build_accessor(@guard, configuration.policy)
        @reader = Reader.new(self)
        @writer = Writer.new(self)
        @fallbacks = FallbackLog.new(logger)
        @generations = Tags::Generations.new(@accessor, @backend, @guard)
        build_fetch(configuration, logger)
        visibility = configuration.clear_visibility
        @namespaces = namespace_generations(visibility) if visibility
        freeze
      end

      private

      def namespace_generations(visibility)
        require_relative "namespace_generations"
        NamespaceGenerations::Table.new(@backend, @guard, visibility)
      end

      def build_fetch(configuration, logger)
        @leases = @backend.build_leases(@guard)
        @policy = configuration.policy
        @fetch = Fetch.new(backend: @backend, guard: @guard, leases: @leases, coder: @coder, reader: @reader,
                           writer: @writer, generations: @generations, request_local: @request_local,
                           frozen_values: @frozen_values, logger:)
      end

      def build_accessor(guard, policy)
        @accessor = @backend.build_accessor(guard, @coder, frozen: @frozen_values,
                                                           stale_if_error: policy.stale_if_error)
        return unless @backend.local_cache?
        require_relative "../accessors/request_local"
        require_relative "local_caching"
        @accessor = @request_local = Accessors::RequestLocal.new(@accessor, @coder, frozen: @frozen_values)
      end
    end
  end
end
