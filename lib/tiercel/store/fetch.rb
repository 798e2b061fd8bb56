# frozen_string_literal: true

require_relative "../fetch"
require_relative "events"
require_relative "fallback_log"

module Tiercel
  module Store
    # `fetch` and `fetch_multi`. This module serves the calls that the {FastPath} does not serve, in the steps of Rails'
    # own methods. {Tiercel::Fetch} computes the missing values: with single flight in the process, leases among
    # processes, and stale values while another caller computes.
    #
    # If a gem has patched Rails' methods, or with a custom coder, Rails' own `fetch` calls {RailsHooks}. It takes no
    # leases, and the {FallbackLog} logs this once.
    module Fetching
      # The observed key of a block whose key Rails has to make, which may raise. The block runs before that.
      ANY_KEY = "*"
      private_constant :ANY_KEY

      # See ActiveSupport::Cache::Store#fetch.
      def fetch(name, options = nil, &)
        return super unless block_given?
        return fetch_merged(name, merged_options(options), &) if @own
        warn_of_fallback
        super
      end

      # See ActiveSupport::Cache::Store#fetch_multi.
      def fetch_multi(*names, &)
        return super if !block_given? || names.empty?
        warn_of_fallback unless @own
        options = merged_options(names.extract_options!)
        known = options[:force] ? {} : read_local_entries(names, **options)
        unknown = known.empty? ? names : names - known.keys
        return known if unknown.empty? && @settings.request_local&.current
        found = fetch_several(unknown, options, &) if @own
        found ||= super(*unknown, options) { |name| run_tagged(name, options, &) }
        known.empty? ? found : known.merge!(found).slice(*names)
      end

      # What `fetch` does after its read has found nothing, for callers that have read the key themselves (views). Sends
      # no event of a read.
      #
      # @private
      # @param storing [Proc, nil] called with a block that stores the value; it has to call this block
      # @return [Object] the value: computed by this or another caller, stale, or stored in the meantime
      def fetch_missing(name, options = nil, storing: nil, &)
        options = merged_options(options)
        policy = policy_for(options)
        return fetch(name, options, &) unless @own && policy.lease
        key, version = normalize_key(name, options), normalize_version(name, options)
        @settings.fetch.value(self, name, key, version, options, policy, storing:, &)
      end

      # The same for several names. Computes what no other caller computes, and then waits for the other values.
      #
      # @private
      # @yieldparam name [Object]
      # @yieldparam write_options [Tags::WriteOptions]
      # @return [Hash{Object => Object}] names and values
      def fetch_multi_missing(*names, &)
        options = merged_options(names.extract_options!)
        policy = policy_for(options)
        return names.to_h { |name| [name, fetch(name, options, &)] } unless @own && policy.lease
        keys = names.map { |name| normalize_key(name, options) }
        versions = names.map { |name| normalize_version(name, options) }
        written = @settings.fetch.values(self, names, keys, versions, options, policy, &)
        after_fetching(written, options, policy)
        written
      end

      # --- what {Tiercel::Fetch} asks of the store ---

      # Runs a block within its event.
      #
      # @private
      def generate(miss, &)
        return yield unless heard?(Events::GENERATE)
        options = { **miss.options, **miss.facts_of_block }
        instrument(:generate, event_key(miss.name, miss.key, options), options, &)
      end

      # Stores a block's value within the event of a write.
      #
      # @private
      def writing(miss, options, &)
        return yield unless heard?(Events::WRITE)
        instrument(:write, event_key(miss.name, miss.key, options), options, &)
      end

      # @private
      # @return [Boolean] whether the event of a write has a subscriber or a log line
      def tells_writes? = heard?(Events::WRITE)

      # The caller has received a value without running its block.
      #
      # @private
      def notify_of_hit(miss)
        return unless heard?(Events::FETCH_HIT)
        facts = miss.facts_of_hit
        instrument(:fetch_hit, miss.name, facts.empty? ? miss.options : { **miss.options, **facts })
      end

      # @private
      # @return [Hash] the options that a block has set, merged as those of a write
      def options_of_write(options) = merged_options(options)

      # @private
      # @return [String, nil]
      def version_of_write(name, options) = normalize_version(name, options)

      private

      def warn_of_fallback
        @settings.fallbacks.warn(@patched) if @settings.policy.lease
      end

      # Reads the generations of the tags before the block of Rails' own `fetch_multi` runs.
      def run_tagged(name, options)
        fix_tags(options[:tags])
        yield name
      end

      def policy_for(options) = @settings.policy.for(options)

      # The steps of Rails' `fetch`.
      def fetch_merged(name, options, &)
        key = normalize_key(name, options)
        policy = policy_for(options)
        return save_block_result_to_cache(name, key, options, &) if options[:force]
        entry = found = nil
        instrument(:read, key, options) do |payload|
          entry, found = find(name, key, options, payload)
          payload[:super_operation] = :fetch
          payload[:hit] = !entry.nil?
        end
        return get_entry_value(entry, Events::RAILS_8_2 ? key : name, options) if entry
        return save_block_result_to_cache(name, key, options, &) unless policy.lease
        @settings.fetch.value(self, name, key, normalize_version(name, options), options, policy, found, &)
      end

      # @return [Array(ActiveSupport::Cache::Entry, Accessor::Found)] the entry of a hit, and nil; or nil, and the
      #   unusable entry, if there is one
      def find(name, key, options, event)
        @settings.backend.forget_last_read
        bytes = read_serialized_entry(key, **options, event:) or return [nil, nil]
        last_read = @settings.backend.last_read
        entry = deserialize_entry(bytes, key:, **options)
        entry = handle_expired_entry(entry, key, options)
        return [entry, nil] if entry && !entry.mismatched?(normalize_version(name, options)) && decodes?(entry)
        [nil, Accessor::Found.new(bytes, @settings.backend.token_shown(bytes, last_read))]
      end

      def decodes?(entry)
        entry.value
        true
      rescue ActiveSupport::Cache::DeserializationError
        false
      end

      # The steps of Rails' `fetch_multi`.
      def fetch_several(names, options, &)
        policy = policy_for(options)
        useless = {}
        written = nil
        values = instrument_multi(:read_multi, names_in_event(names, options), options) do |payload|
          reads = options[:force] ? {} : read_far_entries(names, findings: useless, event: payload, **options)
          made = written = compute_missing(names, reads, useless, options, policy, &)
          payload[:hits] = names_in_event(reads.keys, options)
          payload[:super_operation] = :fetch_multi
          names.index_with { |name| reads.fetch(name) { made[name] } }
        end
        after_fetching(written, options, policy)
        values
      end

      # @return [Hash{Object => Object}] the missing names and their values
      def compute_missing(names, reads, useless, options, policy, &)
        missing = names.reject { |name| reads.key?(name) }
        return {} if missing.empty?
        if options[:force] || !policy.lease
          @settings.generations.fix(options[:tags]) if options[:tags]
          return missing.to_h do |name|
            [name, Observer.timed(keys_of([name])&.first || ANY_KEY) { yield name }]
          end
        end
        keys = missing.map { |name| normalize_key(name, options) }
        versions = missing.map { |name| normalize_version(name, options) }
        @settings.fetch.values(self, missing, keys, versions, options, policy, useless) { |name, _options| yield name }
      end

      # With leases all values are already stored, and only the event remains to be sent.
      def after_fetching(written, options, policy)
        written = written.compact if options[:skip_nil]
        return write_multi(written, options) if options[:force] || !policy.lease
        return if written.empty? || !heard?(Events::WRITE_MULTI)
        instrument_multi(:write_multi, hash_in_event(written, options), options) { true }
      end

      # --- Rails' hooks ---

      # With leases, an expired entry counts as a miss: Rails' `read` would delete it, and with it a lease that another
      # caller has just acquired.
      def read_entry(key, **options)
        entry = super
        entry unless entry&.expired? && leases?(options)
      end

      # Neither deletes an expired entry nor writes it again: the leader keeps it beside the lease.
      def handle_expired_entry(entry, key, options)
        entry&.expired? && leases?(options) ? super(nil, key, options) : super
      end

      def leases?(options) = @own && policy_for(options).lease

      # Rails' own `fetch` calls this on a miss, also with `force` and without leases.
      def save_block_result_to_cache(name, key, options, &)
        Observer.timed(key) { super }
      end
    end
  end
end
