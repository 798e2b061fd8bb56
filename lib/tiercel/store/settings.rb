# frozen_string_literal: true

module Tiercel
  # The parts of a store, fixed once it is built. Copies of the store share them.
  #
  # @private
  class Store::Settings
    # prefix: of all keys for which the backend listens, or nil; accessor: every call of the backend goes through it;
    # request_local: the same accessor, if the store uses Rails' request-local cache; policy: the default, which the
    # options of a call can change; max_key_bytes: false for no limit; compress_threshold: in bytes
    attr_reader :backend, :prefix, :accessor, :request_local, :reader, :writer, :counter, :fetch, :generations,
                :coder, :guard, :leases, :policy, :max_key_bytes, :compress_threshold

    # @param configuration [Configuration]
    # @param logger [#call] returns the store's Logger, or nil
    # @param rails_coder [#load, nil] reads payloads of Rails' stores
    # @raise [ConfigurationError]
    # @raise [MissingDependency]
    def initialize(configuration, logger, rails_coder: nil)
      @backend = backend = configuration.build_backend
      @logger = logger
      @coder = coder = configuration.frame_coder(backend, rails_coder)
      @policy = policy = configuration.policy
      @max_key_bytes = configuration.max_key_size
      @compress_threshold = configuration.compress_threshold(backend)
      @guard = guard = backend.build_guard(logger:, **configuration.guard_options)
      frozen_values = configuration.frozen_values?
      accessor = build_accessor(frozen_values)
      @generations = generations = Store::Tags::Generations.new(accessor, backend, guard)
      @reader = reader = Store::Reader.new(backend:, guard:, accessor:, coder:, generations:, frozen_values:)
      @writer = writer = Store::Writer.new(backend:, accessor:, coder:, reader:, generations:, policy:,
                                           race_condition_ttl: configuration.race_condition_ttl,
                                           threshold: configuration.compress? ? @compress_threshold : nil)
      @counter = Store::Counter.new(accessor:, coder:, reader:, writer:)
      @leases = leases = backend.build_leases(guard)
      @fetch = Fetch.new(backend:, guard:, leases:, coder:, reader:, writer:, generations:, frozen_values:,
                         request_local: @request_local)
      warn_of_plain_entries if coder.accepts_plain?
    end

    # Passes the prefix of all keys to the backend. The first store of a backend determines the prefix.
    #
    # @return [void]
    def listen_for(prefix)
      return if defined?(@prefix)
      @prefix = prefix
      @backend.prefix = prefix
    end

    # Logs once which features of `fetch` are missing while Rails' own methods run.
    #
    # @param cause [#to_s]
    # @return [void]
    def warn_once(cause)
      return if @warned
      @warned = true
      Reports.log(@logger) do
        "#{cause}, so Rails' own methods run. fetch and fetch_multi take no leases: callers that miss at " \
          "the same time all run their blocks, and stale values have no effect"
      end
    end

    private

    def warn_of_plain_entries
      Reports.log(@logger) do
        "encrypt: accept_plain: true: #{@backend} also returns entries that nobody has encrypted, as anyone who " \
          "can write to it may have. Remove it once the entries from before the encryption have expired"
      end
    end

    def build_accessor(frozen)
      @accessor = @backend.build_accessor(@guard, @coder, frozen:, stale_if_error: @policy.stale_if_error)
      return @accessor unless @backend.local_cache?
      @accessor = @request_local = Accessor::RequestLocal.new(@accessor, @coder, frozen:)
    end
  end
end
