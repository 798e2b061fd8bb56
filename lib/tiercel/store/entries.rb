# frozen_string_literal: true

require_relative "../deep_freeze"
require_relative "serialized_frame"

module Tiercel
  module Store
    # Entries to frames and back: what Rails' public methods call. Each method
    # asks the backend once, through the guard.
    module Entries
      # How long an entry outlives its end where `race_condition_ttl` is set,
      # so that there is something stale to give (seconds; Rails' own figure).
      RACE_CONDITION_GRACE = 300

      # What Rails makes of `coder: nil`.
      PASS_THROUGH = ActiveSupport::Cache::SerializerWithFallback[:passthrough]
      private_constant :PASS_THROUGH

      # What a TTL of zero or less becomes for the backend (seconds); the frame says that it has ended.
      SHORTEST_TTL = 0.001

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
        deserialize_entry(read_serialized_entry(key, **options), key: key, **options)
      end

      def read_serialized_entry(key, raw: false, **)
        @guard.call(:read_entry, key) { @backend.get(key) }
      end

      def read_multi_entries(names, **options)
        keys = names.map { |name| normalize_key(name, options) }
        found = @guard.call(:read_multi_entries, returning: {}) { @backend.get_multi(keys.uniq) }
        names.zip(keys).each_with_object({}) do |(name, key), results|
          bytes = found[key] or next
          entry = deserialize_entry(bytes, key: key, **options) or next
          if entry.expired?
            delete_entry(key, **options)
          elsif !entry.mismatched?(normalize_version(name, options))
            results[name] = entry.value
          end
        end
      end

      def deserialize_entry(payload, raw: false, key: nil, **)
        payload = payload.bytes if payload.is_a?(SerializedFrame)
        return if payload.nil?
        return ActiveSupport::Cache::Entry.new(raw_value(payload)) if raw
        entry = load_entry(payload)
        return entry if entry.nil? || entry.expired?
        value = entry.value
        DeepFreeze.call(value) if @frozen
        entry
      rescue MalformedFrame, SerializationError, ActiveSupport::Cache::DeserializationError => error
        report_undecodable(error, key)
        nil
      end

      # With `coder: nil` Rails' pass-through neither dumps nor loads: what comes
      # from a backend then is a frame ({#bytes_of}).
      def load_entry(payload)
        coder = payload.is_a?(String) && @coder.equal?(PASS_THROUGH) ? @frame_coder : @coder
        coder.load(payload)
      end

      # A bad frame is a miss, and worth knowing about: it says that something
      # else writes to these keys, that a class is gone, or that bytes were lost.
      def report_undecodable(error, key)
        ActiveSupport.error_reporter&.report(
          error, handled: true, severity: :warning, source: Guard::SOURCE,
          context: { backend: @backend.to_s, key: key }
        )
      end

      def raw_value(bytes)
        text = bytes.dup.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : text.force_encoding(Encoding::BINARY)
      end

      # --- write ---

      def write_entry(key, entry, raw: false, **options)
        write_serialized_entry(key, serialize_entry(entry, raw: raw, **options), raw: raw, **options)
      end

      # `batch`: a Hash that collects the frame instead of writing it at once.
      def write_serialized_entry(key, payload, raw: false, unless_exist: false, batch: nil, **options)
        bytes = bytes_of(payload)
        return !!(batch[key] = bytes) if batch
        ttl = backend_ttl(raw, **options)
        @guard.call(:write_entry, key) do
          next add_unless_live(key, bytes, ttl) if unless_exist
          @backend.set(key, bytes, ttl) || @guard.too_large(key, bytes.bytesize)
        end
      end

      def write_multi_entries(entries, raw: false, unless_exist: false, **options)
        if unless_exist
          return entries.each { |key, entry| write_entry(key, entry, raw: raw, unless_exist: true, **options) }
        end
        batch = {}
        entries.each { |key, entry| write_entry(key, entry, raw: raw, batch: batch, **options) }
        ttl = backend_ttl(raw, **options)
        stored = set_frames(batch, ttl)
        forget_locally(batch.keys) unless stored
        stored
      end

      # @return [Boolean] whether all are stored
      def set_frames(frames, ttl)
        @guard.call(:write_multi_entries) do
          @backend.set_multi(frames, ttl) || @guard.too_large(nil, frames.sum { |_, frame| frame.bytesize })
        end
      end

      def serialize_entry(entry, raw: false, **options)
        return entry.value.to_s.b.freeze if raw
        serialized = super(entry, **options)
        @coder.is_a?(Coder) ? SerializedFrame.new(serialized, entry.expires_at) : serialized
      end

      # What a backend keeps of a serialized entry. `coder: nil` leaves the
      # entry as it is; no backend keeps objects, so it is framed here.
      def bytes_of(payload)
        case payload
        when SerializedFrame then payload.bytes
        when String then payload
        else @frame_coder.dump(payload)
        end
      end

      # The entry's own end is in its frame (or in what a custom coder made of
      # it); the backend keeps it longer where a stale value may still be asked
      # for. Raw bytes have no frame, so theirs is exact.
      def backend_ttl(raw, expires_in: nil, race_condition_ttl: nil, **)
        return unless expires_in
        ttl = [expires_in.to_f, SHORTEST_TTL].max
        return ttl if raw
        return ttl + [RACE_CONDITION_GRACE, race_condition_ttl.to_f * 2].max if race_condition_ttl
        @backend.remote? ? ttl : ttl + [ttl, RACE_CONDITION_GRACE].min
      end

      # Where the entry that is there has ended (its frame outlives it), it
      # counts as absent.
      def add_unless_live(key, bytes, ttl)
        return true if @backend.add(key, bytes, ttl)
        present, token = @backend.get_with_token(key)
        return @backend.add(key, bytes, ttl) unless token
        return false unless ended?(present, key)
        @backend.compare_and_set(key, bytes, token, ttl)
      end

      def ended?(bytes, key)
        return false if Counter.parse(bytes)
        entry = deserialize_entry(bytes, key: key)
        entry.nil? || entry.expired?
      end

      # --- delete ---

      def delete_entry(key, **)
        @guard.call(:delete_entry, key, returning: false) { @backend.delete(key) }
      end

      def delete_multi_entries(keys, **)
        forget_locally(keys)
        @guard.call(:delete_multi_entries, returning: 0) { @backend.delete_multi(keys) }
      end

      # Rails' request-local cache hooks one key at a time only.
      def forget_locally(keys)
        local = local_cache if respond_to?(:local_cache, true)
        keys.each { |key| local.delete_entry(key) } if local
      end
    end
  end
end
