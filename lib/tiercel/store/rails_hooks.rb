# frozen_string_literal: true

require_relative "../counter"
require_relative "../deep_freeze"
require_relative "../leases/placeholder"
require_relative "../reports"
require_relative "read_once"
require_relative "serialized_frame"

module Tiercel
  module Store
    # Overrides the private methods that Rails' public methods call: these methods turn entries into frames and back.
    # External code that calls them works too. Each method calls the {Accessor} once.
    module RailsHooks
      include ReadOnce

      # Rails' coder for `coder: nil`.
      #
      # @private
      PASS_THROUGH = ActiveSupport::Cache::SerializerWithFallback[:passthrough]

      # Deletes several names. Passes on a copy, because Rails 7.2 and 8.0 normalize the names in the caller's own
      # Array.
      #
      # @param names [Array<Object>] as for `read`
      # @param options [Hash, nil] `namespace`
      # @return [Integer] number of deleted entries
      def delete_multi(names, options = nil) = super(names.dup, options)

      private

      # --- read ---

      def read_entry(key, **options)
        bytes = read_serialized_entry(key, **options)
        deserialize_entry(bytes, key: key, **options)
      end

      # `delete`: see {ReadOnce}.
      def read_serialized_entry(key, event: nil, tags: nil, raw: false, delete: false, **)
        return read_and_delete(key) if delete
        accessor = @settings.accessor
        return accessor.get_tagged(key, tags, event) if tags
        raw ? accessor.get_raw(key, event) : accessor.get(key, event)
      end

      def read_multi_entries(names, **options)
        local = read_local_entries(names, **options)
        return read_far_entries(names, **options) if local.empty?
        local.merge!(read_far_entries(names - local.keys, **options)).slice(*names)
      end

      # Returns the usable values in the request-local cache, and forgets unusable ones (expired, or of another
      # version).
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

      # Leaves expired entries in the backend, as Rails' stores on servers do, because a delete would need another trip.
      def read_far_entries(names, event: nil, findings: nil, **options)
        return {} if names.empty?
        tags = options[:tags]
        keys = names.map { |name| normalize_key(name, options) }
        found = read_near_values(names, keys, options)
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
            next useless_among(findings, key, bytes, last_read, asked || keys)
          end
          (tagged ||= {})[name] = entry if @settings.reader.recorded_tags(entry)
          results[name] = entry.value
        end
        @settings.reader.outdated_among(tagged, tags).each { |name| results.delete(name) } if tagged
        results
      end

      # Records an unusable entry, so that the miss can use its bytes and its token.
      def useless_among(findings, key, bytes, last_read, keys)
        return unless findings
        token = @settings.backend.token_shown(bytes, last_read, keys.index(key))
        findings[key] = Accessor::Found.new(bytes, token)
      end

      # Reads decoded values from a backend in this machine's memory, some from the memo. A value that cannot be decoded
      # is a Found.
      #
      # @return [Hash, nil] nil if the caller has to read frames, for instance because two names share a key
      def read_near_values(names, keys, options)
        return unless @fast && @fast_tags && !options[:tags] && !options[:raw] && keys.uniq.size == keys.size
        @settings.accessor.read_multi(keys, names.map { |name| normalize_version(name, options) }, [])
      end

      def read_far_frames(keys, tags, raw, event)
        accessor = @settings.accessor
        return accessor.get_multi_tagged(keys, tags, event) if tags
        raw ? accessor.get_multi_raw(keys, event) : accessor.get_multi(keys, event)
      end

      # `tags` contains the generations that were read with the payload. With `compare: false` the caller compares them.
      # Rails' pass-through coder (`coder: nil`) neither dumps nor loads, but the backend's bytes are a frame, so the
      # store's coder loads them.
      def deserialize_entry(payload, raw: false, key: nil, report: true, tags: nil, compare: true, **)
        coder = @coder.equal?(PASS_THROUGH) && !payload.is_a?(ActiveSupport::Cache::Entry) ? @settings.coder : @coder
        @settings.reader.entry(payload, coder:, raw:, key:, report:, tags:, compare:)
      end

      # --- write ---

      # If the application writes an entry that it has read, the entry keeps its recorded tags.
      def write_entry(key, entry, raw: false, **options)
        options.delete(:tags) if options[:tags] && Coder::LazyEntry === entry
        write_serialized_entry(key, serialize_entry(entry, raw: raw, **options), raw: raw, **options)
      end

      # `batch`: a Hash that collects the frame instead of writing it at once.
      def write_serialized_entry(key, payload, raw: false, unless_exist: false, batch: nil, **options)
        bytes = bytes_of(payload, **options)
        writer = @settings.writer
        bytes = writer.with_stale_windows(bytes, policy_for(options)) unless raw
        bytes = writer.exclusive(bytes) if unless_exist && !raw
        return if options[:tags] && !(bytes = writer.tagged(bytes, options[:tags]))
        return !!(batch[key] = bytes) if batch
        ttl = writer.ttl(raw, policy: policy_for(options), **options)
        return writer.write(key, bytes, ttl) unless unless_exist
        writer.add(key, bytes, ttl) { |present| expired_bytes?(present, key) }
      end

      def write_multi_entries(entries, raw: false, unless_exist: false, **options)
        return if options[:tags] && !@settings.generations.fix(options[:tags])
        if unless_exist
          return entries.each { |key, entry| write_entry(key, entry, raw: raw, unless_exist: true, **options) }
        end
        batch = {}
        entries.each { |key, entry| write_entry(key, entry, raw: raw, batch: batch, **options) }
        ttl = @settings.writer.ttl(raw, policy: policy_for(options), **options)
        @settings.writer.write_multi(batch, ttl)
      end

      def serialize_entry(entry, raw: false, **options)
        return entry.value.to_s.b.freeze if raw
        return entry if @coder.equal?(PASS_THROUGH) # Rails' `compress` would use Marshal
        serialized = super(entry, **options)
        @coder.is_a?(Coder) ? SerializedFrame.new(@settings.writer.with_recorded_tags(serialized, entry)) : serialized
      end

      # Returns the bytes to store. With `coder: nil` the payload is an entry, which becomes a frame here, because
      # backends store bytes only.
      def bytes_of(payload, compress: @options[:compress], compress_threshold: @options[:compress_threshold], **)
        case payload
        when SerializedFrame then payload.bytes
        when String then payload
        else @settings.writer.frame_of_entry(payload, compress, compress_threshold)
        end
      end

      # An expired entry counts as absent. The backend may keep its frame beyond the expiry.
      def expired_bytes?(bytes, key)
        return false if Counter.parse(bytes)
        entry = deserialize_entry(bytes, key: key)
        entry.nil? || entry.expired?
      end

      # --- delete ---

      def delete_entry(key, **)
        Tiercel::Fetch.deleted(@settings.backend, key)
        @settings.accessor.delete(key)
      end

      def delete_multi_entries(keys, **)
        keys.each { |key| Tiercel::Fetch.deleted(@settings.backend, key) } if Tiercel::Fetch.inside?
        @settings.accessor.delete_multi(keys)
      end
    end
  end
end
