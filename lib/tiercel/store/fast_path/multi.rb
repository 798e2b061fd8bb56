# frozen_string_literal: true

module Tiercel
  module Store
    module FastPath
      # The multi operations. If the fast path supports all names, each takes one trip.
      #
      # @private
      module Multi
        # See ActiveSupport::Cache::Store#read_multi.
        def read_multi(*names)
          return super unless @fast && (keys = keys_of(names))
          log_call(:read_multi, "#{names.size} key(s) specified", nil) if debug_logger?
          return instrumented_read_multi(names, keys) if subscribed?(Events::READ_MULTI)
          read_many(names, keys) || read_multi_entries(names, **@options)
        end

        # See ActiveSupport::Cache::Store#fetch_multi.
        def fetch_multi(*names, &)
          return super unless block_given? && @fast_fetch && (keys = keys_of(names)) && !@options[:skip_nil]
          return super if !@settings.policy.lease || heard?(Events::READ_MULTI) || heard?(Events::WRITE_MULTI)
          found = read_many(names, keys, findings = []) or return super
          found.size == names.size ? found : complete(names, keys, found, findings.to_h, &)
        end

        # See ActiveSupport::Cache::Store#write_multi.
        def write_multi(hash, options = nil)
          return super unless options.nil? && @fast && @fast_writes && (keys = keys_of(names = hash.keys))
          return super unless keys.equal?(names) || keys.uniq.size == keys.size # shared keys: the last value is stored
          log_call(:write_multi, "#{names.size} key(s) specified", nil) if debug_logger?
          return write_many(hash, keys) unless subscribed?(Events::WRITE_MULTI)
          in_event = hash_in_event(hash, @options)
          send_event(:write_multi, Events::WRITE_MULTI, in_event, @options, :instrument_multi) do
            write_many(hash, keys)
          end
        end

        private

        # @param names [Array<Object>]
        # @return [Array<String>, nil] the keys; a name that is its own key is returned itself. Nil if Rails has to
        #   normalize a name
        def keys_of(names)
          return if names.empty? || names.last.instance_of?(Hash)
          RULES&.keys(names, namespace_now, @settings.max_key_bytes)
        end

        # @param names [Array<Object>] names for which {#keys_of} returned keys
        # @return [Array<String, nil>, nil] nil if all names are Strings, which have no version
        def versions_of(names)
          versions = RULES.versions(names)
          versions == false ? names.map { |name| normalize_version(name) } : versions
        end

        def instrumented_read_multi(names, keys)
          options = @options
          in_event = names_in_event(names, options, keys)
          send_event(:read_multi, Events::READ_MULTI, in_event, options, :instrument_multi) do |payload|
            found = read_many(names, keys, [], payload) || read_multi_entries(names, **options, event: payload)
            payload[:hits] = names_in_event(hits = found.keys, options, (hits if keys.equal?(names)))
            found
          end
        end

        def write_many(hash, keys)
          frames = frames_of(hash, keys, @options[:expires_in]&.to_f)
          ttl = @settings.writer.ttl(false, **@options.slice(:expires_in, :race_condition_ttl))
          @settings.writer.write_multi(frames, ttl)
        end

        # If the call's block has subscribed to writes, storing the computed values is an event too.
        #
        # @param findings [Hash{String => Accessor::Found}] the unusable entries that the read has found, by key
        # @return [Hash] the found and the computed values
        def complete(names, keys, found, findings, &)
          at = names.each_index.reject { |index| found.key?(names[index]) }
          missing = names.values_at(*at)
          made = @settings.fetch.values(self, missing, keys.values_at(*at), versions_of(missing) || [], @options,
                                        @settings.policy, findings) { |name, _options| yield name }
          written = hash_in_event(made, @options) if heard?(Events::WRITE_MULTI)
          instrument_multi(:write_multi, written, @options) { true } if written
          names.index_with { |name| found.fetch(name) { made[name] } }
        end

        # @param undecided [Array] receives each key whose entry is a {Accessor::Found}, and the Found
        # @return [Hash, nil] names and values, in the order of the names; nil if the path of Rails' entries has to
        #   serve the call
        def read_many(names, keys, undecided = [], event = nil)
          own = keys.equal?(names)
          versions = own ? nil : versions_of(names)
          return if versions && keys.uniq.size < keys.size # names that share a key may need different versions
          keys = RULES.frozen(keys) if own # a Hash interns an unfrozen String, which costs as much as a read
          found = @settings.accessor.read_multi(keys, versions, undecided, event) or return
          values_for_read(found, undecided, keys, versions) unless undecided.empty?
          own ? found : RULES.by_name(found, names, keys)
        end

        # Decides about unusable entries like Rails' own `read_multi`.
        def values_for_read(found, undecided, keys, versions)
          tagged = nil
          findings = {}
          undecided.each do |key|
            entry = entry_of(found[key], key, compare: false)
            usable = entry && !entry.expired? && !entry.mismatched?(versions && versions[keys.index(key)])
            next findings[key] = found.delete(key) unless usable
            (tagged ||= {})[key] = entry if @settings.reader.recorded_tags(entry)
            findings[key] = found[key]
            found[key] = entry.value
          end
          @settings.reader.outdated_among(tagged).each { |key| found.delete(key) } if tagged
          undecided.replace(findings.reject { |key, _| found.key?(key) }.to_a)
        end

        def frames_of(hash, keys, expires_in)
          ends = @settings.writer.end_after(expires_in) if expires_in
          compress, threshold = @options.values_at(:compress, :compress_threshold)
          coder = @settings.coder
          frames = {}
          hash.each_with_index do |(name, value), index|
            frames[keys[index]] = coder.dump_value(value, ends, version_of(name, keys[index], nil), compress, threshold)
          end
          frames
        end
      end
    end
  end
end
