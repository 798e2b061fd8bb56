# frozen_string_literal: true

require "active_support/cache/strategy/local_cache"

module Tiercel
  # Keeps the bytes that the current request has read or written, and the keys that it found missing, in front of
  # another accessor.
  #
  # Rails' own registry and local store hold the entries, so this accessor behaves like Rails' request-local cache.
  # `read`, `fetch` and `exist?` remember hits and misses; multi reads use remembered hits and add nothing. Every read
  # decodes its own copy of the value. Outside of a request, all calls go to the other accessor.
  #
  # @private
  class Accessor::RequestLocal < Accessor
    Registry = ActiveSupport::Cache::Strategy::LocalCache::LocalCacheRegistry
    private_constant :Registry

    # @return [Symbol] the name of this accessor's local store in Rails' registry
    attr_reader :registry_key

    # @param far [Accessor] the wrapped accessor
    def initialize(far, coder, frozen: false)
      super(far.backend, nil, coder, frozen:) # the backend decides whether a running block inherits tags
      @far = far
      @registry_key = :"tiercel_local_cache_#{object_id}"
      @invalidations = 0
    end

    # @return [ActiveSupport::Cache::Strategy::LocalCache::LocalStore, nil] of this thread or fiber
    def current = Registry.cache_for(@registry_key)

    # @param local [ActiveSupport::Cache::Strategy::LocalCache::LocalStore, nil]
    def current=(local)
      Registry.set_cache_for(@registry_key, local)
    end

    # --- values ---

    # Compares a remembered copy with the remembered generations.
    def read_tagged(key, version, tags, event = nil)
      local = current or return @far.read_tagged(key, version, tags, event)
      fetched = false
      bytes = remembered(local, key, event, tags) { fetched = true }
      return Accessor::MISS if bytes.nil?
      return decode(key, bytes, version, tags.recorded_in?(bytes)) if fetched
      generations = tags.keys.to_h { |name| [name, local.read_entry(generation_key(name))] }
      decode(key, bytes, version, tags.recorded_in?(bytes, generations))
    end

    # Uses remembered copies as far as they are usable, and forgets the others (expired, of another version).
    def read_multi(keys, versions, undecided, event = nil, generations = nil)
      local = current
      known = local&.read_multi_entries(keys)&.compact
      return @far.read_multi(keys, versions, undecided, event, generations) if known.nil? || known.empty?
      wanted = keys.zip(versions).to_h if versions
      found = known.to_h { |key, bytes| [key, decode(key, bytes, wanted && wanted[key])] }
      found.select! do |key, value|
        next true unless Coder::Signal === value
        next undecided << key if undecided?(key, value, wanted && wanted[key])
        local.delete_entry(key)
        false
      end
      unknown = keys.each_index.reject { |index| found.key?(keys[index]) }
      return found if unknown.empty?
      read = @far.read_multi(keys.values_at(*unknown), versions&.values_at(*unknown), undecided, event, generations)
      found.merge!(read).slice(*keys)
    end

    # --- bytes ---

    def get(key, event = nil)
      local = current or return @far.get(key, event)
      remembered(local, key, event)
    end

    # Does not add remembered generations to `tags`. A later write stores the generations of `tags`, so they must come
    # from the backend.
    def get_tagged(key, tags, event = nil)
      local = current or return @far.get_tagged(key, tags, event)
      remembered(local, key, event, tags)
    end

    def get_multi_tagged(keys, tags, event = nil) = @far.get_multi_tagged(keys, tags, event)

    def far_generations(keys)
      remember_generations(keys) { @far.far_generations(keys) }
    end

    # Returns remembered generations of this request without reading them again, unless this process has since
    # invalidated tags.
    #
    # @yieldparam key [String] the key of a remembered generation
    # @yieldparam bytes [String]
    # @yieldreturn [Boolean] whether to use the remembered generation
    def generations(keys)
      local = current or return @far.generations(keys)
      known = keys.to_h { |key| [key, local.read_entry(generation_key(key))] }
      known = known.select { |key, bytes| bytes && yield(key, bytes) }
      unknown = keys - known.keys
      unknown.empty? ? known : known.merge!(far_generations(unknown))
    end

    def invalidate(keys)
      @far.invalidate(keys)
    ensure
      @invalidations += 1 # as exact as Runtime#blocks
    end

    # @param bytes [String, nil] the bytes that the backend has now
    # @return [void]
    def replace(key, bytes)
      local = current or return
      bytes ? local.write_entry(key, bytes) : local.delete_entry(key)
    end

    # Reads all keys from the backend, because the caller has already looked for usable copies.
    def get_multi(keys, event = nil) = @far.get_multi(keys, event)

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

    # Counters always use the backend, even if a count is remembered.
    def count(operation, key, &)
      count = @far.count(operation, key, &)
      remember(key, count.to_s, count)
      count
    end

    def delete_matching(pattern)
      current&.clear
      @far.delete_matching(pattern)
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

    # Returns whether the reader can use a copy that this accessor cannot decode: a copy with tags, or without a
    # frame.
    def undecided?(key, found, version)
      entry = @coder.load(found.bytes, key)
      !entry.nil? && !entry.expired? && !entry.mismatched?(version)
    rescue MalformedFrame, SerializationError, ActiveSupport::Cache::DeserializationError
      false
    end

    def remembered(local, key, event, tags = nil)
      hit = true
      bytes = local.fetch_entry(key) do
        hit = false
        yield if block_given?
        (tags ? get_far_tagged(key, tags, event) : @far.get(key, event))&.freeze
      end
      event[:store] = local.class.name if hit && event
      # Forgets a lease's placeholder, because the value may exist by the next call.
      local.delete_entry(key) if bytes && !hit && Leases::Placeholder.placeholder?(bytes)
      bytes
    end

    def get_far_tagged(key, tags, event)
      found = nil
      remember_generations(tags.keys) { found = @far.get_multi_tagged([key], tags, event) }
      found[key]
    end

    # @yieldreturn [Hash{String => String}] the current generations; may contain other entries too
    def remember_generations(keys)
      local = current or return yield
      names = keys.map { |key| generation_key(key) }
      yield.tap do |found|
        keys.zip(names) { |key, name| found[key] && local.write_entry(name, found[key]) }
      end
    end

    # The name of a remembered generation; no key of the application ends like this. After an invalidation by this
    # process the names differ, so earlier generations are no longer found.
    def generation_key(key) = "#{key}\0#{@invalidations}"

    # Remembers the bytes, or forgets the key if the write failed or the entry was too large.
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
