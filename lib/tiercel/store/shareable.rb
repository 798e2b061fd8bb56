# frozen_string_literal: true

module Tiercel
  module Store
    # An experiment: one store over `shared:` for all Ractors of a process.
    #
    #   CACHE = Ractor.make_shareable(Tiercel.new("shared:app"))
    #   Ractor.new { CACHE.fetch("city") { "Duckburgh" } }
    #
    # Such a store has nothing that changes, only the {Seed} of its parts. The main Ractor keeps the parts that it had.
    # Every other Ractor builds its own at its first call ({InRactor}), and attaches to the segment as a process does: it
    # has its own flights, events and figures. It keeps no decoded values (`memo:`).
    #
    # @private
    module Shareable
      # What the parts of a store are built from; in place of a {Configuration}, which may name anything.
      Seed = Struct.new(:path, :options, :coder, :policy, :max_key_size, :threshold, :compress, :race_condition_ttl,
                        :frozen_values, :guard_options) do
        def build_backend = Backends::Shared.new(Segment.join(path))
        def frame_coder(_backend) = coder
        def compress_threshold(_backend) = threshold
        def compress? = compress
        def frozen_values? = frozen_values
        def coder? = false
        def url = nil
      end

      class << self
        # Prepares a store for `Ractor.make_shareable`, which freezes it.
        #
        # @param store [ActiveSupport::Cache::TiercelStore]
        # @param settings [Settings]
        # @param patches [Patches]
        # @return [void]
        # @raise [ConfigurationError] if other Ractors could not use the store
        def prepare(store, settings, patches)
          refuse(settings, patches)
          # A Ractor other than the main one loads no files, and sets no variables of modules.
          Tiercel.eager_load!
          [InRactor, Digest::SHA256, ActiveSupport::Digest.hash_digest_class].each(&:name)
          seed = seed_of(store, settings)
          place = :"tiercel_store_#{store.object_id}"
          Ractor.current[place] = store.dup
          store.instance_variables.each { |name| store.remove_instance_variable(name) }
          store.instance_variable_set(:@seed, seed)
          store.instance_variable_set(:@place, place)
          store.singleton_class.include(Shareable)
        end

        private

        def refuse(settings, patches)
          backend = settings.backend
          unless Runtime.main? && backend.instance_of?(Backends::Shared) && backend.segment.instance_of?(Segment)
            raise ConfigurationError, "only a store over `shared:` alone works in several Ractors, this one is over " \
                                      "#{backend}: do not freeze it, use it in the main Ractor, and send values to " \
                                      "the others"
          end
          raise ConfigurationError, "Rails' own methods do not work in several Ractors, and #{patches}" if patches.any
          refuse_background(settings.policy)
        end

        def seed_of(store, settings)
          configuration = store.configuration
          Ractor.make_shareable(
            Seed.new(settings.backend.segment.path, store.options, settings.coder, settings.policy,
                     settings.max_key_bytes, settings.compress_threshold, configuration.compress?,
                     configuration.race_condition_ttl, configuration.frozen_values?, configuration.guard_options)
          )
        rescue Ractor::Error => error
          raise ConfigurationError, "Ractors cannot share an option of the store (#{error.message}): use a String, a " \
                                    "module or another object that Ractor.make_shareable accepts"
        end
      end

      # @raise [ConfigurationError]
      def self.refuse_background(policy)
        return unless policy.background?
        raise ConfigurationError, "refresh: :background needs threads of the main Ractor: use refresh: :inline"
      end

      # The methods that each Ractor passes to its own store.
      methods = ActiveSupport::Cache::TiercelStore.public_instance_methods - Object.public_instance_methods
      methods += %i[dup clone inspect extend]
      setters, others = (methods - %i[freeze]).partition { |name| name.end_with?("=") }
      others.each { |name| class_eval("def #{name}(...) = here.#{name}(...)", __FILE__, __LINE__) }
      setters.each { |name| class_eval("def #{name}(_) refuse_change end", __FILE__, __LINE__) }

      private

      def refuse_change = raise(FrozenError.new("a store of several Ractors is frozen", receiver: self))

      def here = Ractor.current[@place] ||= InRactor.new(@seed)

      # The store of one Ractor. Rails' constants and class variables that Ractors do not share are out of its reach.
      class InRactor < ActiveSupport::Cache::TiercelStore
        ALIASES = Ractor.make_shareable(ActiveSupport::Cache::OPTION_ALIASES.transform_values(&:dup))
        # Patches were checked in the main Ractor.
        NO_PATCHES = Struct.new(:any, :events).new(false, false).freeze
        private_constant :ALIASES, :NO_PATCHES

        def initialize(seed) # rubocop:disable Lint/MissingSuper -- reads what Ractors do not share
          @configuration = seed
          @options = seed.options
          @coder = seed.coder
          @max_key_size = seed.max_key_size
          @notifies = notifies?
          open_with(Settings.new(seed, -> { logger }))
        end

        # @return [Logger] writes to this Ractor's standard error
        def logger = @logger ||= Logger.new($stderr, level: Logger::WARN)

        private

        def find_patches = NO_PATCHES

        # Rails 8.2 has a notifier in each Ractor, from Ruby 4.0 on.
        def notifies?
          !ActiveSupport::Notifications.notifier.nil?
        rescue Ractor::IsolationError, NoMethodError
          false
        end

        def heard?(event) = @notifies && super
        def listened?(event) = @notifies && super

        def policy_for(options) = super.tap { |policy| Shareable.refuse_background(policy) }

        def normalize_options(options)
          ALIASES.each_with_object(options.dup) do |(name, others), normalized|
            given = others.find { |other| normalized.key?(other) }
            normalized[name] ||= normalized[given] if given
            others.each { |other| normalized.delete(other) }
          end
        end

        # The methods of OpenSSL's classes work in the main Ractor only.
        def digest_of(key)
          algorithm = ActiveSupport::Digest.hash_digest_class
          return super unless defined?(OpenSSL::Digest) && algorithm < OpenSSL::Digest
          OpenSSL::Digest.new(algorithm.name.split("::").last).hexdigest(key)[0, 32]
        end

        def handle_invalid_expires_in(message) = raise(ArgumentError, message)
      end
    end
  end
end
