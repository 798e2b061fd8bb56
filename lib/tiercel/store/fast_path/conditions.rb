# frozen_string_literal: true

module Tiercel
  module Store
    module FastPath
      # When the fast path may be taken: nobody has changed what it goes around,
      # and nobody watches this call.
      #
      # @private
      module Conditions
        # What Rails' public methods call, and a subclass, a prepended module or
        # a stub may override to see every call.
        HOOKS = %i[
          normalize_key normalize_version merged_options expanded_key expanded_version namespace_key
          instrument instrument_multi _instrument handle_expired_entry get_entry_value save_block_result_to_cache
          read_entry read_serialized_entry read_multi_entries deserialize_entry
          write_entry write_serialized_entry write_multi_entries serialize_entry
          delete_entry delete_multi_entries options normalize_options expand_and_namespace_key truncate_key
        ].freeze

        # Rails' public methods that this module stands in front of.
        FRONTS = %i[read fetch write delete exist? read_multi fetch_multi write_multi].freeze

        # What Rails (or this library) defines them in.
        OWN = [ActiveSupport::Cache::Store, ActiveSupport::Cache::Strategy::LocalCache, Keys, Entries].freeze

        # Options whose defaults the fast path of a write does not know.
        SLOW_WRITE_OPTIONS = %i[raw unless_exist version expires_at].freeze
        # Options whose defaults no fast call knows.
        SLOW_OPTIONS = %i[raw version force expires_at unless_exist].freeze

        @stores = ObjectSpace::WeakMap.new

        class << self
          # Looks again whether something has been patched since the stores were
          # built. The Railtie does so after the application has initialized.
          #
          # @return [void]
          def recheck = @stores.each_key { |store| store.send(:check_fast_path) }

          # @param store [ActiveSupport::Cache::TiercelStore]
          # @return [void]
          def watch(store) = @stores[store] = true

          # @return [Boolean] whether Rails' own code is what runs
          def rails_untouched?
            rails_source = ActiveSupport::Cache::Store.instance_method(:initialize).source_location&.first
            (FRONTS + HOOKS).all? { |name| defined_by_rails?(name, rails_source) } && notifications_untouched? &&
              instrumenter_untouched?
          end

          private

          def defined_by_rails?(name, rails_source)
            store = ActiveSupport::Cache::Store
            return true unless store.method_defined?(name) || store.private_method_defined?(name)
            method = store.instance_method(name)
            method.owner == store && method.source_location&.first == rails_source
          end

          def notifications_untouched?
            method = ActiveSupport::Notifications.method(:instrument)
            notifier = ActiveSupport::Notifications.notifier
            return false unless %i[groups_for all_listeners_for].all? { |name| notifier.respond_to?(name) }
            method.owner == ActiveSupport::Notifications.singleton_class &&
              method.source_location&.first == ActiveSupport::Notifications.method(:publish).source_location&.first
          end

          # What Rails' `instrument` hands on to where somebody listens.
          def instrumenter_untouched?
            instrumenter = ActiveSupport::Notifications::Instrumenter
            method = instrumenter.instance_method(:instrument)
            method.owner == instrumenter &&
              method.source_location&.first == instrumenter.instance_method(:initialize).source_location&.first
          end
        end

        # A module that one store is extended with may want to see every call.
        #
        # @return [self]
        def extend(*)
          super
          check_fast_path if defined?(@fast_path_wanted)
          self
        end

        private

        def start_fast_path(wanted, memo)
          @fast_path_wanted = wanted && @coder.equal?(@frame_coder) && (!@frozen || memo)
          @values = Values.for(@backend, @guard, @frame_coder, memo)
          check_fast_path
          Conditions.watch(self)
        end

        def check_fast_path
          @local_cache_mounted = is_a?(ActiveSupport::Cache::Strategy::LocalCache)
          @fast_writes = SLOW_WRITE_OPTIONS.none? { |name| @options[name] }
          @fast = @fast_path_wanted && SLOW_OPTIONS.none? { |name| @options[name] } &&
                  Conditions.rails_untouched? && own_hooks?
        end

        # A subclass or a singleton method that overrides a hook wants to see every call.
        def own_hooks?
          HOOKS.all? do |name|
            !respond_to?(name, true) || OWN.include?(method(name).owner)
          end
        end

        # Someone stubs or overrides a method of this one store.
        def singleton_method_added(name)
          super
          check_fast_path if defined?(@fast_path_wanted) && (HOOKS + FRONTS).include?(name)
        end

        # Whether this call may be fast: asked first, of every call.
        def fast?
          @fast && (logger.nil? || silence? || !logger.debug?) && !(@local_cache_mounted && local_cache)
        end

        def only_expires_in?(options)
          return false unless options.size == 1
          case expires_in = options[:expires_in]
          when Integer, Float, ActiveSupport::Duration then expires_in.to_f.positive?
          else false
          end
        end
      end
    end
  end
end
