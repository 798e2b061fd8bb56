# frozen_string_literal: true

require_relative "patches"

module Tiercel
  module Store
    module FastPath
      # Decides whether the fast path may serve calls: no code may have overridden a method that the fast path bypasses.
      #
      # Every call checks @fast alone. A store computes @fast and the other conditions when it is built, and again when
      # {Patches} reports a change.
      #
      # @private
      module Conditions
        include Patches::NoticingSingletons

        # Hooks that Rails' public methods call. A subclass, a prepended module or a stub may override them to see every
        # call.
        HOOKS = %i[
          normalize_key normalize_version merged_options expanded_key expanded_version namespace_key
          handle_expired_entry get_entry_value save_block_result_to_cache
          read_entry read_serialized_entry read_multi_entries deserialize_entry
          write_entry write_serialized_entry write_multi_entries serialize_entry
          delete_entry delete_multi_entries options normalize_options expand_and_namespace_key truncate_key
        ].freeze

        # Every event passes the first three methods. A patch of them sees every call, even without a subscriber. The
        # last one decides about log lines.
        INSTRUMENTS = %i[instrument instrument_multi _instrument logger].freeze

        # The hooks through which Rails' `fetch` and `fetch_multi` write.
        WRITES = %i[write write_multi].freeze

        # Rails' public methods that the fast path overrides.
        FRONTS = %i[read fetch write delete exist? read_multi fetch_multi write_multi].freeze

        # The modules in which Rails, or this library, defines the hooks.
        DEFINERS = [ActiveSupport::Cache::Store, Keys, RailsHooks, Fetching, Events, Tags, WorkerKeys].freeze

        # If the store sets one of these options, the fast path does not serve writes.
        SLOW_WRITE_OPTIONS = %i[raw unless_exist version expires_at].freeze
        # If the store sets one of these options, the fast path serves no call.
        SLOW_OPTIONS = %i[raw version force expires_at unless_exist].freeze

        # Checks again, because the new module may override a method to see every call.
        #
        # @return [self]
        def extend(*)
          super
          check_fast_path
          self
        end

        # - @own: this library's own `fetch` runs; @patched: the methods that prevent it
        # - @fast, @fast_fetch, @fast_writes: the fast path serves calls, `fetch`, and writes with the store's defaults
        # - @always_heard: every call is instrumented
        # - @fast_tags: a read does not need the tags that a call names
        # - @read_tags, @fetch_tags: the most tags in a `read` or a `fetch` of the fast path; nil for none
        #
        # @private
        # @return [void]
        def check_fast_path
          return unless @settings
          definers = @settings.namespaces ? [*DEFINERS, NamespaceGenerations] : DEFINERS
          @patched = Patches.of_stores | foreign(HOOKS, definers)
          ours = @patched.empty? && @coder.equal?(@settings.coder)
          @patched |= foreign(WRITES, FastPath.ancestors) if ours
          @own = ours && @patched.empty?
          @fast = ours && @settings.fast_path && @settings.namespaces.nil? && @options.values_at(*SLOW_OPTIONS).none?
          @fast_fetch = @fast && @own
          @always_heard = !Patches.events_untouched? || foreign(INSTRUMENTS, DEFINERS).any?
          @fast_writes = @options.values_at(*SLOW_WRITE_OPTIONS).none? && @settings.policy.stale_seconds.nil?
          @fast_tags = @settings.accessor.compares_tags?
          @read_tags = (Tags::Named::MAX_COUNT if @fast_tags)
          @fetch_tags = Tags::Named::MAX_COUNT
        end

        private

        # @return [void]
        def start_fast_path
          check_fast_path
          Patches.watch(self)
        end

        # Finds overridden methods. A subclass or a singleton method may override a method to see every call.
        #
        # @param owners [Array<Module>] modules whose methods are not foreign
        # @return [Array<Symbol>] names of the foreign methods
        def foreign(names, owners)
          names.select { |name| respond_to?(name, true) && !owners.include?(method(name).owner) }
        end

        Patches.notice
      end
    end
  end
end
