# frozen_string_literal: true

require "active_support/cache/strategy/local_cache"
require_relative "../../leases/placeholder"
require_relative "../accessor"

module Tiercel
  module Store
    module Accessors
      # In front of another accessor: the bytes that the request at hand has read or written already, and the keys
      # under which it has found nothing.
      #
      # They are kept as Rails' request-local cache keeps them (its registry, its store of one thread or fiber), so
      # what is seen of it is the same: `read`, `fetch` and `exist?` remember what they found and what they did not;
      # the multi reads use what is remembered, but for misses, and add nothing. Every read decodes anew, so nobody
      # sees what another reader did to his copy. Where nothing is set up (outside of a request) all calls go on.
      #
      # @private
      class RequestLocal < Accessor
        Registry = ActiveSupport::Cache::Strategy::LocalCache::LocalCacheRegistry
        private_constant :Registry

        # @return [Symbol] under which the registry has this one's store
        attr_reader :registry_key

        # @param far [Accessor]
        def initialize(far, coder, frozen: false)
          super(coder, frozen: frozen)
          @far = far
          @registry_key = :"tiercel_local_cache_#{object_id}"
        end

        # @return [ActiveSupport::Cache::Strategy::LocalCache::LocalStore, nil] of this thread or fiber
        def current = Registry.cache_for(@registry_key)

        # @param local [ActiveSupport::Cache::Strategy::LocalCache::LocalStore, nil]
        def current=(local)
          Registry.set_cache_for(@registry_key, local)
        end

        # --- values ---

        def read(key, version, event = nil)
          local = current or return @far.read(key, version, event)
          bytes = remembered(local, key, event)
          bytes.nil? ? MISS : decode(bytes, version)
        end

        # Nil where a copy is no plain value: whether its key has to be asked for is decided on the entries' way.
        def read_multi(keys, versions, unsettled)
          known = current&.read_multi_entries(keys)&.compact
          return @far.read_multi(keys, versions, unsettled) if known.nil? || known.empty?
          wanted = keys.zip(versions).to_h if versions
          found = known.to_h { |key, bytes| [key, decode(bytes, wanted && wanted[key])] }
          return if found.each_value.any?(Coder::Signal)
          unknown = keys.each_index.reject { |index| found.key?(keys[index]) }
          return found.slice(*keys) if unknown.empty?
          found.merge!(@far.read_multi(keys.values_at(*unknown), versions&.values_at(*unknown), unsettled)).slice(*keys)
        end

        def write(key, value, version, expires_at, ttl, threshold)
          current ? super : @far.write(key, value, version, expires_at, ttl, threshold)
        end

        # --- bytes ---

        def get(key, event = nil)
          local = current or return @far.get(key, event)
          remembered(local, key, event)
        end

        # Asks for all of them: what copies are worth is the caller's to say, who looks at them first.
        def get_multi(keys) = @far.get_multi(keys)

        def set(key, bytes, ttl)
          remember(key, bytes, @far.set(key, bytes, ttl))
        end

        def set_multi(frames, ttl)
          stored = @far.set_multi(frames, ttl)
          frames.each { |key, bytes| remember(key, bytes, stored) } if current
          stored
        end

        def add(key, bytes, ttl, &)
          remember(key, bytes, @far.add(key, bytes, ttl, &))
        end

        def delete(key)
          forget(key)
          @far.delete(key)
        end

        def delete_multi(keys)
          keys.each { |key| forget(key) } if current
          @far.delete_multi(keys)
        end

        # Counts are asked of the backend, whatever is remembered.
        def count(operation, key, &)
          count = @far.count(operation, key, &)
          remember(key, count.to_s, count)
          count
        end

        def delete_matching(prefix, &)
          current&.clear
          @far.delete_matching(prefix, &)
        end

        def clear(prefix)
          current&.clear
          @far.clear(prefix)
        end

        def cleanup
          current&.clear
          @far.cleanup
        end

        def stats(...) = @far.stats(...)

        private

        def remembered(local, key, event)
          hit = true
          bytes = local.fetch_entry(key) do
            hit = false
            @far.get(key, event)&.freeze
          end
          event[:store] = local.class.name if hit && event
          # A lease is nobody's to remember: what it stands for may be there at the next call.
          local.delete_entry(key) if bytes && !hit && Leases::Placeholder.placeholder?(bytes)
          bytes
        end

        # What was not written (lost, failed, too large) is not known any more.
        def remember(key, bytes, stored)
          local = current or return stored
          stored ? local.write_entry(key, bytes.freeze) : local.delete_entry(key)
          stored
        end

        def forget(key)
          current&.delete_entry(key)
          nil
        end
      end
    end
  end
end
