# frozen_string_literal: true

require "active_support/cache/strategy/local_cache"

module LockStep
  # Rails' own request-local cache on a store of ours, corrected where Rails' results are known to be wrong. Ours is
  # compared with it.
  module RailsLocalCache
    include ActiveSupport::Cache::Strategy::LocalCache

    # Rails requires the block only if its local cache lacks some names, ignores `force` for the others, and on 7.2
    # and 8.0 returns them in another order.
    def fetch_multi(*given, &block)
      names = given.dup
      options = names.extract_options!
      if block.nil? || (names.any? && self.options.merge(options)[:force])
        method = ActiveSupport::Cache::TiercelStore.instance_method(:fetch_multi)
        return method.bind_call(self, *names, options, &block)
      end
      forget_undecodable(names, self.options.merge(options)) if local_cache && !refused?(options)
      super(*given, &block).slice(*names)
    end

    # With an invalid matcher, Rails forgets everything.
    def delete_matched(matcher, options = nil)
      return super if matcher.is_a?(Regexp) || matcher.is_a?(String)
      Tiercel::Store::Maintenance.instance_method(:delete_matched).bind_call(self, matcher, options)
    end

    private

    # Whether Rails rejects the arguments immediately.
    def refused?(options)
      ends = options.slice(:expires_in, :expire_in, :expired_in)
      (options.key?(:expires_at) && !ends.empty?) || !ends.values.compact.all?(Numeric)
    end

    # Rails keeps its copies of entries that delete_multi removes.
    def delete_multi_entries(keys, **)
      keys.each { |key| local_cache&.delete_entry(key) }
      super
    end

    # Rails would remember a lease and return it for the rest of the request.
    def read_serialized_entry(key, **)
      super.tap do |bytes|
        local_cache&.delete_entry(key) if bytes.is_a?(String) && Tiercel::Leases::Placeholder.placeholder?(bytes)
      end
    end

    # Rails treats a copy that cannot be decoded as a cached nil.
    def read_multi_entries(names, **options)
      forget_undecodable(names, options) if local_cache
      super.slice(*names)
    end

    # Rails remembers the values before one that cannot be dumped, although it writes none of them.
    def write_multi_entries(entries, unless_exist: false, **options)
      return super if unless_exist
      data = local_cache&.instance_variable_get(:@data)
      before = data.dup
      super.tap { entries.each_key { |key| remember_tagged(key) } if options[:tags] }
    rescue StandardError, SystemStackError
      data&.replace(before)
      raise
    end

    # Rails remembers the bytes without their tags (so it serves invalidated entries), and without the mark of
    # `unless_exist`.
    def write_serialized_entry(key, _payload, batch: nil, **options)
      super.tap { |stored| remember_tagged(key) if stored && (options[:tags] || options[:unless_exist]) && !batch }
    end

    def remember_tagged(key)
      remember_locally(key, backend.peek(key)) if local_cache&.read_entry(key)
    end

    # Rails' request-local cache does not see the writes of placeholders.
    def remember_locally(key, bytes)
      return unless local_cache
      bytes ? local_cache.write_entry(key, bytes) : local_cache.delete_entry(key)
    end

    def forget_undecodable(names, options)
      options = options.except(:tags, :expires_in, :expire_in, :expired_in, :expires_at) # Rails 7.2 checks the times
      names.map { |name| normalize_key(name, options) }.each do |key|
        copy = local_cache.read_entry(key) or next
        local_cache.delete_entry(key) if deserialize_entry(copy, report: false, **options).nil?
      end
    rescue StandardError
      nil # wrong names and options: Rails' own method raises the error
    end
  end
end
