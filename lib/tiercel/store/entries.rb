# frozen_string_literal: true

require_relative "../counter"
require_relative "../deep_freeze"
require_relative "../leases/placeholder"
require_relative "../reports"
require_relative "read_once"
require_relative "serialized_frame"

module Tiercel
  module Store
    # Entries to frames and back: what Rails' public methods call. Each method
    # asks the {Accessor} once.
    module Entries
      include ReadOnce

      # How long an entry outlives its end where `race_condition_ttl` is set,
      # so that there is something stale to give (seconds; Rails' own figure).
      RACE_CONDITION_GRACE = 300

      # What Rails makes of `coder: nil`.
      #
      # @private
      PASS_THROUGH = ActiveSupport::Cache::SerializerWithFallback[:passthrough]

      # What a TTL of zero or less becomes for the backend (seconds); the frame says that it has ended.
      SHORTEST_TTL = 0.001

      # See ActiveSupport::Cache::Store#fetch_multi. What the request-local cache has is taken from there; Rails' own
      # method (and its event) is for the other names.
      def fetch_multi(*names, &)
        return super unless block_given? && @settings.request_local&.current
        options = merged_options(names.extract_options!)
        local = options[:force] ? {} : read_local_entries(names, **options)
        unknown = local.empty? ? names : names - local.keys
        unknown.empty? ? local : local.merge!(super(*unknown, options, &)).slice(*names)
      end

      # Deletes several names. Rails 7.2 and 8.0 would normalize them in the
      # caller's own Array.
      #
      # @param names [Array<Object>] as for `read`
      # @param options [Hash, nil] `namespace`
      # @return [Integer] how many were there
      def delete_multi(names, options = nil) = super(names.dup, options)

      private

      # --- read ---

      def read_entry(key, **options)
        bytes = read_serialized_entry(key, **options)
        deserialize_entry(bytes, key: key, **options).tap { |entry| usable_or_missed(key, bytes, entry) }
      end

      # What was found was counted as a hit.
      def usable_or_missed(key, bytes, entry)
        @settings.account.unserved(key) if bytes && (entry.nil? || entry.expired?)
      end

      # `delete`: see {ReadOnce}.
      def read_serialized_entry(key, event: nil, tags: nil, raw: false, delete: false, **)
        return take(key) if delete
        accessor = @settings.accessor
        return accessor.get_tagged(key, tags, event) if tags
        raw ? accessor.get_raw(key, event) : accessor.get(key, event)
      end

      def read_multi_entries(names, **options)
        local = read_local_entries(names, **options)
        return read_far_entries(names, **options) if local.empty?
        local.merge!(read_far_entries(names - local.keys, **options)).slice(*names)
      end

      # What the request-local cache has of the names. A copy that is of no use (ended, of another version) is
      # forgotten.
      def read_local_entries(names, **options)
        local = @settings.request_local&.current or return {}
        keys = names.map { |name| normalize_key(name, options) }
        names.zip(keys).each_with_object({}) do |(name, key), results|
          bytes = local.read_entry(key) or next
          entry = deserialize_entry(bytes, report: false, **options)
          if entry.nil? || entry.expired? || entry.mismatched?(normalize_version(name, options))
            local.delete_entry(key)
          else
            results[name] = entry.value
          end
        end
      end

      # What has ended is left to the backend, as Rails' stores on servers do: deleting it would be another trip.
      def read_far_entries(names, event: nil, **options)
        return {} if names.empty?
        tags = options[:tags]
        keys = names.map { |name| normalize_key(name, options) }
        ends = Thread.current[EarlyFetch::ENDS]
        found = read_near_values(names, keys, options) unless ends
        found ||= read_far_frames(asked = keys.uniq, tags, options[:raw], event)
        last_read = @settings.backend.last_read
        tagged = nil
        results = names.zip(keys).each_with_object({}) do |(name, key), results|
          next unless found.key?(key)
          bytes = found[key]
          if asked.nil?
            next results[name] = bytes unless Accessor::Found === bytes
            bytes = bytes.bytes
          end
          entry = deserialize_entry(bytes, key: key, compare: false, **options)
          if entry.nil? || entry.expired? || entry.mismatched?(normalize_version(name, options))
            @settings.account.unserved(key)
            next unusable(key, bytes, last_read, asked || keys)
          end
          (tagged ||= {})[name] = entry if recorded_tags(entry)
          results[name] = entry.value
          ends[name] = entry.expires_at if ends && entry.expires_at
        end
        outdated_among(tagged, tags).each { |name| results.delete(name) } if tagged
        results
      end

      # What a near backend gives decoded, from its memo perhaps; of the rest what was read.
      #
      # @return [Hash, nil] nil where frames have to be read: names of one key may want different versions
      def read_near_values(names, keys, options)
        return unless @fast && @fast_tags && !options[:tags] && !options[:raw] && keys.uniq.size == keys.size
        @settings.accessor.read_multi(keys, names.map { |name| normalize_version(name, options) }, [])
      end

      def read_far_frames(keys, tags, raw, event)
        accessor = @settings.accessor
        return accessor.get_multi_tagged(keys, tags, event) if tags
        raw ? accessor.get_multi_raw(keys, event) : accessor.get_multi(keys, event)
      end

      # `tags`: what was read of their generations with the payload; `compare: false`: the caller compares.
      def deserialize_entry(payload, raw: false, key: nil, report: true, tags: nil, compare: true, **)
        return if payload.nil?
        payload = payload.bytes if payload.is_a?(SerializedFrame)
        payload = Leases::Placeholder.visible(payload) or return if payload.is_a?(String)
        return ActiveSupport::Cache::Entry.new(raw_value(payload)) if raw
        entry = load_entry(payload)
        return entry if entry.nil? || entry.expired?
        return if compare && outdated?(entry, tags)
        value = entry.value
        DeepFreeze.call(value) if @settings.frozen_values
        entry
      rescue MalformedFrame, SerializationError, ActiveSupport::Cache::DeserializationError => error
        report_undecodable(error, key) if report
        nil
      end

      # With `coder: nil` Rails' pass-through neither dumps nor loads: what comes
      # from a backend then is a frame ({#bytes_of}).
      def load_entry(payload)
        coder = payload.is_a?(String) && @coder.equal?(PASS_THROUGH) ? @settings.coder : @coder
        coder.load(payload)
      end

      # A bad frame is a miss, and worth knowing about: it says that something
      # else writes to these keys, that a class is gone, or that bytes were lost.
      def report_undecodable(error, key) = Reports.handled(error, backend: @settings.backend.to_s, key:)

      def raw_value(bytes)
        text = bytes.dup.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : text.force_encoding(Encoding::BINARY)
      end

      # --- write ---

      # An entry that was read keeps the tags that it was read with.
      def write_entry(key, entry, raw: false, **options)
        options.delete(:tags) if options[:tags] && Coder::LazyEntry === entry
        write_serialized_entry(key, serialize_entry(entry, raw: raw, **options), raw: raw, **options)
      end

      # `batch`: a Hash that collects the frame instead of writing it at once.
      def write_serialized_entry(key, payload, raw: false, unless_exist: false, batch: nil, **options)
        bytes = bytes_of(payload, **options)
        bytes = with_stale_windows(bytes, policy_for(options)) unless raw
        bytes = exclusive(bytes) if unless_exist && !raw
        return if options[:tags] && !(bytes = tagged(bytes, options[:tags]))
        return !!(batch[key] = bytes) if batch
        ttl = backend_ttl(raw, policy: policy_for(options), **options)
        filling = Fetch::Filling.of(@settings.backend, key)
        return fill(filling, bytes, ttl, unless_exist:) if filling
        return write_anew(key, bytes, ttl) unless unless_exist
        stored = @settings.accessor.add(key, bytes, ttl) { |present| ended?(present, key) }
        rewritten(key, bytes) if stored
        stored
      end

      # A delete that a server receives late leaves such a frame alone ({Backend#delete_frames}).
      def exclusive(bytes)
        @settings.backend.near? || !Frame.frame?(bytes) ? bytes : Frame.with_parts(bytes, exclusive: true)
      end

      def write_anew(key, bytes, ttl)
        stored = @settings.accessor.set(key, bytes, ttl)
        rewritten(key, bytes) if stored
        stored
      end

      def write_multi_entries(entries, raw: false, unless_exist: false, **options)
        return if options[:tags] && !fix_tags(options[:tags])
        if unless_exist
          return entries.each { |key, entry| write_entry(key, entry, raw: raw, unless_exist: true, **options) }
        end
        batch = {}
        entries.each { |key, entry| write_entry(key, entry, raw: raw, batch: batch, **options) }
        stored = @settings.accessor.set_multi(batch, backend_ttl(raw, policy: policy_for(options), **options))
        all_rewritten(batch, stored)
      end

      def serialize_entry(entry, raw: false, **options)
        return entry.value.to_s.b.freeze if raw
        return entry if @coder.equal?(PASS_THROUGH) # whose own compression would marshal it
        serialized = super(entry, **options)
        @coder.is_a?(Coder) ? SerializedFrame.new(with_recorded_tags(serialized, entry)) : serialized
      end

      # What a backend keeps of a serialized entry. `coder: nil` leaves the
      # entry as it is; no backend keeps objects, so it is framed here.
      def bytes_of(payload, compress: @options[:compress], compress_threshold: @options[:compress_threshold], **)
        case payload
        when SerializedFrame then payload.bytes
        when String then payload
        else
          coder = @settings.coder
          bytes = compress ? coder.dump_compressed(payload, compress_threshold) : coder.dump(payload)
          with_recorded_tags(bytes, payload)
        end
      end

      # What is said to live for an infinite time, or for none that is a number, has no end, as in Rails' own stores.
      #
      # @param seconds [Float]
      # @return [Float, nil] epoch seconds
      def end_after(seconds) = (Clock.now + seconds if seconds.finite?)

      # The entry's own end is in its frame (or in what a custom coder made of
      # it); the backend keeps it longer where a stale value may still be asked
      # for. Raw bytes have no frame, so theirs is exact.
      def backend_ttl(raw, expires_in: nil, race_condition_ttl: nil, policy: @settings.policy, **)
        return unless expires_in
        ttl = [expires_in.to_f, SHORTEST_TTL].max unless expires_in.to_f.nan?
        ttl = framed_ttl(ttl, race_condition_ttl, policy) if ttl && !raw
        ttl if ttl&.finite?
      end

      def framed_ttl(ttl, race_condition_ttl, policy)
        ttl += policy.stale_seconds if policy.stale_seconds
        return ttl + [RACE_CONDITION_GRACE, race_condition_ttl.to_f * 2].max if race_condition_ttl
        @settings.backend.remote? ? ttl : ttl + [ttl, RACE_CONDITION_GRACE].min
      end

      # Where the entry that is there has ended (its frame outlives it), it
      # counts as absent.
      def ended?(bytes, key)
        return false if Counter.parse(bytes)
        entry = deserialize_entry(bytes, key: key)
        entry.nil? || entry.expired?
      end

      # --- delete ---

      def delete_entry(key, **)
        deleted([key])
        @settings.accessor.delete(key)
      end

      def delete_multi_entries(keys, **)
        deleted(keys)
        @settings.accessor.delete_multi(keys)
      end
    end
  end
end
