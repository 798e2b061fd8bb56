# frozen_string_literal: true

module Tiercel
  module Store
    module FastPath
      # The multi operations: for names that the fast path knows, in one trip.
      #
      # @private
      module Multi
        # See ActiveSupport::Cache::Store#read_multi.
        def read_multi(*names)
          return super unless @fast && (keys = keys_of(names))
          return read_many(names, keys) || super unless heard?(Events::READ_MULTI)
          instrumented_read_multi(names, keys)
        end

        # See ActiveSupport::Cache::Store#fetch_multi.
        def fetch_multi(*names, &)
          return super unless block_given? && @fast_fetch && (keys = keys_of(names)) && !@options[:skip_nil]
          return super if @early || heard?(Events::READ_MULTI) || heard?(Events::WRITE_MULTI)
          policy = @settings.policy
          found = read_many(names, keys, shown = []) or return super
          return found if found.size == names.size
          return complete(names, keys, found, shown.to_h, policy, &) if policy.lease
          writes = {}
          ordered = names.index_with do |name|
            found.fetch(name) { writes[name] = @settings.account.timed(key_of(name)) { yield(name) } }
          end
          write_multi(writes)
          ordered
        end

        # See ActiveSupport::Cache::Store#write_multi.
        def write_multi(hash, options = nil)
          return super unless options.nil? && @fast && @fast_writes && (keys = keys_of(names = hash.keys))
          return super unless keys.equal?(names) || keys.uniq.size == keys.size # of names with one key the last is kept
          return write_many(hash, keys) unless heard?(Events::WRITE_MULTI)
          instrument_multi(:write_multi, hash_in_event(hash, @options), @options) { write_many(hash, keys) }
        end

        private

        def instrumented_read_multi(names, keys)
          options = merged_options(nil)
          instrument_multi(:read_multi, names_in_event(names, options), options) do |payload|
            found = read_many(names, keys, [], payload) || read_multi_entries(names, **options, event: payload)
            payload[:hits] = names_in_event(found.keys, options)
            found
          end
        end

        def write_many(hash, keys)
          frames = frames_of(hash, keys, @options[:expires_in]&.to_f)
          ttl = @settings.writer.ttl(false, **@options.slice(:expires_in, :race_condition_ttl))
          @settings.writer.write_multi(frames, ttl)
        end

        # Where a block has subscribed to writes, the one that was done in the places of leases is told of.
        #
        # @return [Hash] what was found, and what was not
        def complete(names, keys, found, shown, policy, &)
          at = names.each_index.reject { |index| found.key?(names[index]) }
          missing = names.values_at(*at)
          made = miss_multi(missing, keys.values_at(*at), missing.map { |name| version_of(name) },
                            merged_options(nil), policy, useless: shown, &)
          written = hash_in_event(made, @options) if heard?(Events::WRITE_MULTI)
          instrument_multi(:write_multi, written, @options) { true } if written
          names.index_with { |name| found.fetch(name) { made[name] } }
        end

        # @param unsettled [Array] gets the keys that have something that is no value, and the {Accessor::Found} of each
        # @return [Hash, nil] names and values, in the order of the names; nil where only the entries' way will do
        def read_many(names, keys, unsettled = [], event = nil)
          own = keys.equal?(names)
          versions = own ? nil : versions_of(names)
          return if versions && keys.uniq.size < keys.size # names of one key, which may want different versions
          keys = frozen_keys(keys) if own
          found = @settings.accessor.read_multi(keys, versions, unsettled, event) or return
          values_for_read(found, unsettled, keys, versions) unless unsettled.empty?
          own ? found : by_name(found, names, keys)
        end

        # Treats entries as Rails' own way does.
        def values_for_read(found, unsettled, keys, versions)
          tagged = nil
          shown = {}
          unsettled.each do |key|
            entry = entry_of(found[key], key, compare: false)
            usable = entry && !entry.expired? && !entry.mismatched?(versions && versions[keys.index(key)])
            next shown[key] = found.delete(key).tap { |what| useless(what, key) } unless usable
            (tagged ||= {})[key] = entry if @settings.reader.recorded_tags(entry)
            shown[key] = found[key]
            found[key] = entry.value
          end
          @settings.reader.outdated_among(tagged).each { |key| useless(found.delete(key), key) } if tagged
          unsettled.replace(shown.reject { |key, _| found.key?(key) }.to_a)
        end

        def frames_of(hash, keys, expires_in)
          ends = @settings.writer.end_after(expires_in) if expires_in
          compress, threshold = @options.values_at(:compress, :compress_threshold)
          coder = @settings.coder
          frames = {}
          hash.each_with_index do |(name, value), index|
            frames[keys[index]] = coder.dump_value(value, ends, version_of(name), compress, threshold)
          end
          frames
        end
      end
    end
  end
end
