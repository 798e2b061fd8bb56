# frozen_string_literal: true

require_relative "patches"

module Tiercel
  module Store
    module FastPath
      # When the fast path may be taken: nobody has changed what it goes around.
      #
      # Every call looks at @fast; the rest is looked at when a store is built, and again whenever
      # {Patches} notices a change.
      #
      # @private
      module Conditions
        include Patches::NoticingSingletons

        # Hooks that Rails' public methods call, and a subclass, a prepended module or
        # a stub may override to see every call.
        HOOKS = %i[
          normalize_key normalize_version merged_options expanded_key expanded_version namespace_key
          handle_expired_entry get_entry_value save_block_result_to_cache
          read_entry read_serialized_entry read_multi_entries deserialize_entry
          write_entry write_serialized_entry write_multi_entries serialize_entry
          delete_entry delete_multi_entries options normalize_options expand_and_namespace_key truncate_key
        ].freeze

        # The way of every event: a patch of it sees every call, also where nobody subscribes.
        INSTRUMENTS = %i[instrument instrument_multi _instrument].freeze

        # The hooks through which Rails' `fetch` and `fetch_multi` write.
        WRITES = %i[write write_multi].freeze

        # Rails' public methods that this module stands in front of.
        FRONTS = %i[read fetch write delete exist? read_multi fetch_multi write_multi].freeze

        # The modules in which Rails (or this library) defines the hooks.
        OWN = [ActiveSupport::Cache::Store, Keys, Entries, Fetch, EarlyFetch, Events, Tags, WorkerKeys].freeze

        # Options whose defaults the fast path of a write does not know.
        SLOW_WRITE_OPTIONS = %i[raw unless_exist version expires_at].freeze
        # Options whose defaults no fast call knows.
        SLOW_OPTIONS = %i[raw version force expires_at unless_exist].freeze

        # A module that one store is extended with may want to see every call.
        #
        # @return [self]
        def extend(*)
          super
          check_fast_path
          self
        end

        # @own: whether this library's own `fetch` runs; @patched: what stands in its way; @fast: whether calls may be
        # fast; @fast_fetch: the same of `fetch`; @always_heard: whether each is instrumented; @fast_writes: whether
        # writes with the store's defaults may be; @early: whether a hit of `fetch` is looked at for the time that is
        # left of it; @fast_tags: whether the tags that a call names are useless to its read; @consecutive_misses: of
        # `fetch`, where it is useful; @shares_options: whether a block that sets no options needs no copy of them.
        #
        # @private
        # @return [void]
        def check_fast_path
          return unless @settings
          @patched = Patches.of_stores | foreign(HOOKS, @settings.namespaces ? [*OWN, NamespaceGenerations] : OWN)
          ours = @patched.empty? && @coder.equal?(@settings.coder)
          @patched |= foreign(WRITES, FastPath.ancestors) if ours
          @own = ours && @patched.empty?
          @fast = ours && @settings.fast_path && @settings.namespaces.nil? && @options.values_at(*SLOW_OPTIONS).none?
          @fast_fetch = @fast && @own
          @always_heard = !Patches.events_untouched? || foreign(INSTRUMENTS, OWN).any?
          @fast_writes = @options.values_at(*SLOW_WRITE_OPTIONS).none? && @settings.policy.stale_seconds.nil?
          @early = @settings.policy.lease && !@settings.policy.early_refresh.nil?
          @fast_tags = @settings.accessor.compares_tags?
          @consecutive_misses = @settings.consecutive_misses
          @shares_options = Tags::WriteOptions::CopiedWhenSet.possible?
        end

        private

        # @return [void]
        def start_fast_path
          check_fast_path
          Patches.watch(self)
        end

        # A subclass or a singleton method that overrides one wants to see every call.
        #
        # @param owners [Array<Module>] whose methods are not foreign
        # @return [Array<Symbol>] those that are
        def foreign(names, owners)
          names.select { |name| respond_to?(name, true) && !owners.include?(method(name).owner) }
        end

        def only_expires_in?(options) = options.size == 1 && ends?(options[:expires_in])

        def ends?(expires_in)
          case expires_in
          when Integer, Float, ActiveSupport::Duration then expires_in.to_f.positive?
          else false
          end
        end

        # An end, the usual tags, and what is asked for besides by a miss. All others are Rails' way's, which says what
        # is wrong.
        def usual_options?(options)
          count = ends?(options[:expires_in]) ? 1 : 0
          return true if count == options.size
          count += 1 if @fast_tags && (tags = options[:tags]) && usual_tags?(tags)
          count == options.size || usual_besides?(options, count)
        end

        # @param count [Integer] of those that are known already
        def usual_besides?(options, count)
          count += 1 if ends?(options[:race_condition_ttl])
          count += 1 if options[:skip_nil] == true
          count += 1 if options.key?(:version) && !@early
          count += 1 if options.key?(:namespace) && namespace?(options[:namespace])
          count == options.size
        end

        # One that runs no code of the application's.
        def namespace?(namespace) = namespace.nil? || namespace.instance_of?(String) || namespace.instance_of?(Symbol)

        Patches.notice
      end
    end
  end
end
