# frozen_string_literal: true

require_relative "../leases"
require_relative "fetch/attempts"
require_relative "fetch/cold_run"
require_relative "fetch/displacements"
require_relative "fetch/miss"
require_relative "fetch/multi_miss"
require_relative "fetch/plan"
require_relative "../fetch_policy"
require_relative "fetch/shown"
require_relative "fetch/straight"
require_relative "fetch/takeover_log"
require_relative "fetch/uncached_log"
require_relative "events"

module Tiercel
  module Store
    # `fetch` where nothing was found: single flight in the process, a lease among processes, stale values meanwhile.
    # {Miss} says how; here is what the store's own methods have to do with it.
    #
    # Both ways of `fetch` come here on a miss: the fast path by {#miss}, Rails' own method by
    # `save_block_result_to_cache`.
    module Fetch
      # What only blocks with a time limit and refreshes in the background need.
      autoload :Background, File.expand_path("fetch/background", __dir__)
      autoload :TimedBlock, File.expand_path("fetch/timed_block", __dir__)

      include Straight

      # See ActiveSupport::Cache::Store#fetch.
      def fetch(name, options = nil, &block)
        return super unless block && policy_for(options).lease
        Shown.within { super }
      end

      # See ActiveSupport::Cache::Store#fetch_multi.
      def fetch_multi(*names, &block)
        call_options = names.last.is_a?(Hash) ? names.last : nil
        policy = policy_for(call_options)
        return super unless block && policy.lease && !@options.merge(call_options || {})[:force]
        options = merged_options(call_options) # which reports what is wrong with them, once
        names = [*names[...-1], options] if call_options
        plan = Plan.new(self) do |missing|
          Thread.current[EarlyFetch::ENDS] = nil # what the blocks read is theirs
          keys = missing.map { |name| normalize_key(name, options) }
          versions = missing.map { |name| normalize_version(name, options) }
          miss_multi(missing, keys, versions, options, policy, shown: plan.shown, &block)
        end
        return plan.run { super(*names) { |name| plan.value_of(name) } } unless policy.early_refresh
        refresh_several(options, policy, block) { plan.run { super(*names) { |name| plan.value_of(name) } } }
      end

      private

      def policy_for(options) = @settings.policy.for(options)

      # @param shown [Accessor::Found, Shown, nil] what the read has found that was no value
      # @param fast [Boolean] whether a fill may go the fast path's way
      # @param begun [Array(Flight, Object), nil] see {Miss#value}
      def miss(name, key, version, options, policy, shown: nil, fast: false, begun: nil, &)
        call = Call.new(self, name, key, version, options, policy, shown:, fast:, &)
        value = Miss.new(@settings, call).value(begun)
        given = true
        value
      ensure
        notify(call, given || false) if call && (call.account || !call.computed?)
      end

      # @param shown [Hash{String => Accessor::Found}] by key, what the read has found that was no value
      # @return [Hash{Object => Object}] names and values
      def miss_multi(names, keys, versions, options, policy, shown: {}, fast: false)
        calls = names.each_index.map do |index|
          Call.new(self, names[index], keys[index], versions[index], options, policy, fast: true) do |name, _options|
            yield name
          end
        end
        misses = MultiMiss.new(@settings, calls, policy, shown) { |made| frames_to_fill(made, options, policy, fast) }
        values = misses.values
        given = true
        values
      ensure
        calls&.each { |call| notify(call, given || false) if call.account || !call.computed? }
      end

      def read_multi_entries(names, **)
        super.tap { |found| Plan.current&.read(self, names, found) }
      end

      def write_multi_entries(entries, **)
        Plan.current&.stored?(self, entries.size) ? true : super
      end

      # What a read of several has found that is no value is kept for the miss.
      def unusable(key, bytes, last_read, keys)
        plan = Plan.current or return
        token = @settings.backend.token_shown(bytes, last_read, keys.index(key))
        plan.unusable(self, key, Accessor::Found.new(bytes, token))
      end

      # With leases, what has ended is no entry: Rails' `read` would delete it, and with it a lease that another caller
      # has just taken.
      def read_entry(key, **options)
        return super unless policy_for(options).lease
        @settings.backend.forget_last_read
        bytes = read_serialized_entry(key, **options)
        last_read = @settings.backend.last_read
        entry = deserialize_entry(bytes, key: key, **options)
        usable_or_missed(key, bytes, entry)
        Shown.current&.note(self, key, bytes.is_a?(SerializedFrame) ? bytes.bytes : bytes, entry, last_read) if bytes
        entry unless entry&.expired?
      end

      # Rails' own `fetch` ends here on a miss.
      def save_block_result_to_cache(name, key, options, &)
        policy = policy_for(options)
        return @settings.account.timed(key) { super } if options[:force] || !policy.lease
        shown = Shown.current
        shown = nil unless shown&.of?(self, key)
        miss(name, key, normalize_version(name, options), options, policy, shown:, &)
      end

      # Runs the block with its notification, and writes what it gives.
      def save_as_rails_does(name, key, options, &)
        policy = policy_for(options)
        ends = options[:expires_in] unless policy.jitter.zero?
        options = options.merge(expires_in: jittered(ends.to_f, policy)) if ends
        ActiveSupport::Cache::Store.instance_method(:save_block_result_to_cache).bind_call(self, name, key, options, &)
      end

      # What has ended is neither deleted nor put back: whoever takes the lease keeps it beside the lease.
      def handle_expired_entry(entry, key, options)
        entry&.expired? && policy_for(options).lease ? super(nil, key, options) : super
      end

      # --- storing what a block gave ---

      def fill_fast(filling, value, version, options, policy)
        fill(filling, plain_frame(value, version, options, policy).freeze, fill_ttl(options, policy))
      end

      def fill_ttl(options, policy)
        expires_in = options[:expires_in] or return
        backend_ttl(options[:raw], expires_in:, race_condition_ttl: options[:race_condition_ttl], policy:)
      end

      # @return [String] the frame, as the fast path makes it
      def plain_frame(value, version, options, policy)
        expires_in = options[:expires_in]
        ends = end_after(jittered(expires_in.to_f, policy)) if expires_in
        threshold = compress_threshold(options)
        bytes = @settings.coder.dump_value(value, ends, version, !threshold.nil?, threshold || 0)
        tagged(with_stale_windows(bytes, policy), options[:tags])
      end

      # @param values [Hash{Call => Object}]
      # @return [Array(Hash{Call => String}, Float)] what is to be stored, and its ttl
      def frames_to_fill(values, options, policy, fast)
        values = values.compact if options[:skip_nil]
        frames = values.to_h do |call, value|
          [call, fast ? plain_frame(value, call.version, options, policy) : frame_of(call, value, options, policy)]
        end
        [frames.compact, fill_ttl(options, policy)]
      end

      # @return [String] the frame, as Rails' own methods make it
      def frame_of(call, value, options, policy)
        expires_in = options[:expires_in]
        expires_in = jittered(expires_in.to_f, policy) if expires_in
        entry = ActiveSupport::Cache::Entry.new(value, **options, version: call.version, expires_in:)
        bytes = bytes_of(serialize_entry(entry, **options), **options)
        options[:raw] ? bytes : tagged(with_stale_windows(bytes, policy), options[:tags])
      end

      # @return [Boolean, nil] as `write`
      def fill(filling, bytes, ttl, unless_exist: false)
        return unless bytes
        stored = filling.lease && @settings.leases.fill(filling.lease, bytes, ttl)
        stored = filling.flight.overwrite(@settings.guard, bytes, ttl) unless stored || unless_exist
        @settings.account.wrote if stored
        stored ? rewritten(filling.key, bytes, filling.flight) : warn_if_deleted(filling.flight)
        @settings.cold_run&.longer if stored && filling.lease.begun?
        remember_locally(filling.key, stored ? bytes : nil)
        filling.done(stored)
      end

      # A block around the code at hand may be that of the same key: what it gives comes after this.
      #
      # @param written [String, Integer] bytes, or a count
      # @param flight [Flight, nil] whose own value it is
      def rewritten(key, written, flight = nil)
        return if @settings.flights.idle?
        Held.each_of(@settings.backend, key) { |held| held.rewritten = written unless held.equal?(flight) }
      end

      # @param frames [Hash{String => String}] by key, that are written
      # @return [Boolean, nil] whether they are, as it was passed
      def all_rewritten(frames, stored)
        frames.each { |key, bytes| rewritten(key, bytes) } if stored && !@settings.flights.idle?
        stored
      end

      # A block around the code at hand may be that of one of these keys: what it gives is not stored.
      def deleted(keys)
        return if @settings.flights.idle?
        keys.each { |key| Held.each_of(@settings.backend, key) { |held| held.deleted = true } }
      end

      def warn_if_deleted(flight)
        @settings.uncached.warn(flight.key) if flight.deleted
      end

      def remember_locally(key, bytes)
        local = @settings.request_local&.current or return
        bytes ? local.write_entry(key, bytes) : local.delete_entry(key)
      end

      # --- ends ---

      def jittered(expires_in, policy) = policy.jitter.zero? ? expires_in : expires_in * (1 - (rand * policy.jitter))

      # @param bytes [String] of a frame, or what a custom coder made
      # @return [String] the frame, with the time until which it is of use after its end
      def with_stale_windows(bytes, policy)
        return bytes unless policy.stale_seconds && Frame.frame?(bytes) && (ends = Frame.ends_at(bytes))
        windows = [policy.stale_while_revalidate, policy.stale_if_error].map { |seconds| ends + (seconds || 0) }
        Frame.with_parts(bytes, stale: windows)
      end

      def frozen_values? = @settings.frozen_values

      def coder_of_copies = @settings.coder
    end
  end
end
