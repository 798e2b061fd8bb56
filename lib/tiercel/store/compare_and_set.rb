# frozen_string_literal: true

# Compare-and-swap of values, in the form of Dalli's client and of IdentityCache's extension of MemCacheStore.
module Tiercel::Store::CompareAndSet
  # The backend failed.
  FAILED = Object.new.freeze
  private_constant :FAILED

  # Replaces a value unless it has changed since it was read. A missing, expired or invalidated entry yields nothing.
  # The new entry gets the options and tags of this call, like that of a `write`.
  #
  #   cache.cas("members") { |members| members + ["Huey"] } # => true
  #
  # @param name [Object] as for `read`
  # @param options [Hash, nil] as for `write`
  # @yieldparam value [Object] the present value
  # @yieldreturn [Object] the new value
  # @return [Boolean, nil] true if the new value is stored; false if the entry has changed or the backend failed; nil if
  #   there is no entry
  def cas(name, options = nil)
    options = merged_options(options)
    key = normalize_key(name, options)
    instrument(:cas, key, options) do
      swap({ name => key }, options) { |values| { name => yield(values[name]) } unless values.empty? }
    end
  end

  # The same for several names. Each value is replaced unless it has changed.
  #
  # @param names [Array<Object>] as for `read_multi`; the last may be a Hash of options as for `write`
  # @yieldparam values [Hash{Object => Object}] the present values by name, without missing ones
  # @yieldreturn [Hash{Object => Object}, nil] the new values by name, of names that had a value
  # @return [Boolean, nil] true if all new values are stored; false if an entry has changed or the backend failed; nil
  #   without names
  def cas_multi(*names, **keywords)
    options = merged_options({ **names.extract_options!, **keywords })
    return if names.empty?
    keys = names.to_h { |name| [name, normalize_key(name, options)] }
    instrument(:cas_multi, keys.values, options) { swap(keys, options) { |values| yield(values) || {} } }
  end

  private

  # @param keys [Hash{Object => String}] by name
  # @yieldparam values [Hash{Object => Object}]
  # @yieldreturn [Hash{Object => Object}, nil] nil to change nothing
  # @return [Boolean, nil]
  def swap(keys, options)
    all = keys.values.uniq
    found = @settings.guard.call(:read_multi_entries, returning: FAILED, keys: all) do |rest|
      @settings.backend.get_multi_with_tokens(rest)
    end
    return false if FAILED.equal?(found)
    values = keys.each_with_object({}) do |(name, key), values|
      bytes, = found[key]
      entry = bytes && @settings.reader.entry(bytes, key:, raw: options[:raw])
      stale = entry.nil? || entry.expired? || entry.mismatched?(normalize_version(name, options))
      values[name] = entry.value unless stale
    end
    present = values.keys
    @settings.generations.fix(options[:tags]) if options[:tags]
    changes = yield(values)&.slice(*present) or return
    policy = policy_for(options)
    frames = changes.to_h do |name, value|
      version = normalize_version(name, options)
      [keys[name], [@settings.writer.frame(keys[name], value, version, options, policy), found[keys[name]].last]]
    end
    return false if frames.any? { |_, (bytes, _)| bytes.nil? }
    ttl = @settings.writer.fill_ttl(options, policy)
    stored = @settings.guard.call(:write_entry, frames.one? ? frames.keys.first : nil, returning: []) do
      frames.select { |key, (bytes, token)| @settings.backend.compare_and_set(key, bytes, token, ttl) }.keys
    end
    frames.each { |key, (bytes, _)| @settings.request_local&.replace(key, stored.include?(key) ? bytes : nil) }
    stored.size == frames.size
  end
end
