# frozen_string_literal: true

module ActiveSupport
  module Cache
    # An experiment: one store over `shared:` for all Ractors of a process.
    #
    #   CACHE = Ractor.make_shareable(Tiercel.new("shared:app"))
    #   Ractor.new { CACHE.fetch("city") { "Duckburgh" } }
    #
    # Such a store has nothing that changes, only the {Seed} of its parts. The main Ractor keeps its parts. Every other
    # Ractor builds parts of its own at its first call ({InRactor}), and attaches to the segment as a process does. So
    # each Ractor has its own flights, events and figures. The store keeps no decoded values (`memo:`).
    #
    # @private
    module TiercelStore::Shareable
      # The values from which a Ractor builds its parts. A {Tiercel::Configuration} may contain unshareable objects.
      Seed = Struct.new(:path, :options, :coder, :policy, :max_key_size, :threshold, :compress?, :race_condition_ttl,
                        :frozen_values?, :guard_options) do
        def build_backend = ::Tiercel::Backends::Shared.new(::Tiercel::Segment.join(path))
        def frame_coder(_backend, _rails_coder) = coder
        def compress_threshold(_backend) = threshold
        def coder? = false
        def url = nil
      end

      class << self
        # Prepares a store for `Ractor.make_shareable`, which freezes it.
        #
        # @param settings [Tiercel::Store::Settings]
        # @param patches [Tiercel::Store::Patches]
        # @return [void]
        # @raise [Tiercel::ConfigurationError] if other Ractors could not use the store
        def prepare(store, settings, patches)
          refuse_what_is_not_shared(settings.backend, patches)
          refuse_background(settings.policy)
          # A Ractor other than the main one loads no files, and sets no variables of modules.
          ::Tiercel.eager_load!
          [InRactor, ::Digest::SHA256, ActiveSupport::Digest.hash_digest_class].each(&:name)
          seed = seed_of(store, settings)
          place = :"tiercel_store_#{store.object_id}"
          Ractor.current[place] = store.dup
          store.instance_variables.each { |name| store.remove_instance_variable(name) }
          store.instance_variable_set(:@seed, seed)
          store.instance_variable_set(:@place, place)
          store.singleton_class.include(self)
        end

        # @raise [Tiercel::ConfigurationError]
        def refuse_background(policy)
          refuse("refresh: :background needs threads of the main Ractor: use refresh: :inline") if policy.background?
        end

        private

        def refuse_what_is_not_shared(backend, patches)
          refuse("Rails' own methods do not work in several Ractors, and #{patches}") if patches.any
          return if ::Tiercel::Runtime.main? && backend.instance_of?(::Tiercel::Backends::Shared) &&
                    backend.segment.instance_of?(::Tiercel::Segment)
          refuse("only a store over `shared:` alone works in several Ractors, this one is over #{backend}: do not " \
                 "freeze it, use it in the main Ractor, and send values to the others")
        end

        def seed_of(store, settings)
          configuration = store.configuration
          Ractor.make_shareable(
            Seed.new(settings.backend.segment.path, store.options, settings.coder, settings.policy,
                     settings.max_key_bytes, settings.compress_threshold, configuration.compress?,
                     configuration.race_condition_ttl, configuration.frozen_values?, configuration.guard_options)
          )
        rescue Ractor::Error => error
          refuse("Ractors cannot share an option of the store (#{error.message}): use a String, a module or another " \
                 "object that Ractor.make_shareable accepts")
        end

        def refuse(message) = raise(::Tiercel::ConfigurationError, message)
      end

      # Each Ractor passes these methods to its own store. `(...)` allocates an Array, so frequent methods do without.
      def read(name, options = nil) = here.read(name, options)
      def fetch(name, options = nil, &) = here.fetch(name, options, &)
      def write(name, value, options = nil) = here.write(name, value, options)

      methods = TiercelStore.public_instance_methods - Object.public_instance_methods + %i[dup clone inspect extend]
      setters, others = (methods - instance_methods - [:freeze]).partition { |name| name.end_with?("=") }
      others.each { |name| class_eval("def #{name}(...) = here.#{name}(...)", __FILE__, __LINE__) }
      setters.each { |name| class_eval("def #{name}(_) refuse_change end", __FILE__, __LINE__) }

      private

      def here = Ractor.current[@place] ||= InRactor.new(@seed)

      def refuse_change = raise(FrozenError.new("a store of several Ractors is frozen", receiver: self))

      # The store of one Ractor. This store reads none of the constants and variables of Rails that Ractors do not
      # share.
      class InRactor < TiercelStore
        ALIASES = Ractor.make_shareable(OPTION_ALIASES.transform_values(&:dup))
        # The main Ractor has already looked for patches.
        NO_PATCHES = Struct.new(:any, :events, :check).new(false, false).freeze
        private_constant :ALIASES, :NO_PATCHES

        def initialize(seed) # rubocop:disable Lint/MissingSuper
          @configuration = seed
          @options = seed.options
          @max_key_size = seed.max_key_size
          @notifies = notifies?
          open_with(::Tiercel::Store::Settings.new(seed, -> { logger }))
        end

        # @return [Logger] writes warnings to this Ractor's standard error
        def logger = @logger ||= ::Logger.new($stderr, level: ::Logger::WARN)

        private

        def find_patches = NO_PATCHES

        # From Ruby 4.0 on, Rails 8.2 has a notifier in each Ractor.
        def notifies?
          !ActiveSupport::Notifications.notifier.nil?
        rescue Ractor::IsolationError, NoMethodError
          false
        end

        def heard?(event) = @notifies && ActiveSupport::Notifications.notifier.listening?(event)
        alias listened? heard?

        def policy_for(options) = super.tap { |policy| TiercelStore::Shareable.refuse_background(policy) }

        def normalize_options(options)
          ALIASES.each_with_object(options.dup) do |(name, others), normalized|
            given = others.find { |other| normalized.key?(other) }
            normalized[name] ||= normalized[given] if given
            others.each { |other| normalized.delete(other) }
          end
        end

        def handle_invalid_expires_in(message) = raise(ArgumentError, message)

        # The methods of OpenSSL's classes work in the main Ractor only.
        def digest_of(key)
          algorithm = ActiveSupport::Digest.hash_digest_class
          return super unless defined?(OpenSSL::Digest) && algorithm < OpenSSL::Digest
          OpenSSL::Digest.new(algorithm.name.split("::").last).hexdigest(key)[0, 32]
        end
      end
    end
  end
end
