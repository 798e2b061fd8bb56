# frozen_string_literal: true

require_relative "fast_path/conditions"
require_relative "fast_path/names"
require_relative "fast_path/multi"
require_relative "fast_path/observation"
require_relative "values"

module Tiercel
  module Store
    # The common calls at the speed of the backend.
    #
    # Rails' own methods merge options, normalize, instrument and build an Entry
    # for every call; that costs more than a look-up in shared memory. Each
    # method here serves the calls whose name and options it knows, and leaves
    # every other call to Rails' method (`super`). What is not a plain hit goes
    # through the same private methods that Rails' own take (`read_entry`,
    # `handle_expired_entry`, `save_block_result_to_cache`).
    #
    # Nothing but time may differ: test/store/property_test.rb holds the two
    # ways against each other.
    module FastPath
      include Conditions
      include Names
      include Multi
      include Observation

      # A value that was found, as Rails' `get_entry_value` wants it.
      Found = Struct.new(:value)
      private_constant :Found

      # See ActiveSupport::Cache::Store#read.
      def read(name, options = nil)
        return super unless options.nil? && fast?
        key = fast_key(name) or return super
        version = name.instance_of?(String) ? nil : fast_version(name)
        observers = subscribers(READ)
        value = observers.empty? ? @values.read(key, version) : observed_read(name, key, version, observers)
        value = read_as_entry(key, version, @options) if value.equal?(Values::SLOW)
        value unless value.equal?(Values::MISS)
      end

      # See ActiveSupport::Cache::Store#fetch.
      def fetch(name, options = nil, &block)
        return super unless block_given? && fast? && (options.nil? || only_expires_in?(options))
        key = fast_key(name) or return super
        version = name.instance_of?(String) ? nil : fast_version(name)
        observers = subscribers(READ)
        value = observers.empty? ? @values.read(key, version) : Values::SLOW
        value = observed_fetch(name, key, version, merged_options(options), observers) if value.equal?(Values::SLOW)
        return compute(name, options, &block) if value.equal?(Values::MISS)
        return value unless observed?("cache_fetch_hit.active_support")
        get_entry_value(Found.new(value), name, merged_options(options))
      end

      # See ActiveSupport::Cache::Store#write.
      def write(name, value, options = nil)
        return super unless fast? && @fast_writes && (options.nil? || only_expires_in?(options))
        key = fast_key(name) or return super
        return super if observed?("cache_write.active_support")
        expires_in = options ? options[:expires_in] : @options[:expires_in]
        write_value(key, value, fast_version(name), expires_in&.to_f)
      end

      # See ActiveSupport::Cache::Store#delete.
      def delete(name, options = nil)
        return super unless options.nil? && fast?
        key = fast_key(name) or return super
        return super if observed?("cache_delete.active_support")
        @guard.call(:delete_entry, key, returning: false) { @backend.delete(key) }
      end

      # See ActiveSupport::Cache::Store#exist?.
      def exist?(name, options = nil)
        return super unless options.nil? && fast?
        key = fast_key(name) or return super
        return super if observed?("cache_exist?.active_support")
        value = @values.read(key, fast_version(name))
        value.equal?(Values::SLOW) ? super : !value.equal?(Values::MISS)
      end

      # See {Counters#increment}.
      def increment(name, amount = 1, options = nil, **keywords)
        return super unless options.nil? && keywords.empty? && fast?
        key = fast_key(name) or return super
        return super if observed?("cache_increment.active_support")
        @guard.call(:increment, key) { counted(key, Integer(amount), @options[:expires_in]) }
      end

      private

      def observed_read(name, key, version, observers)
        observe_read(name, key, @options, observers) do |payload|
          value = @values.read(key, version)
          value = read_as_entry(key, version, @options, payload) if value.equal?(Values::SLOW)
          payload[:hit] = !value.equal?(Values::MISS)
          value
        end
      end

      def observed_fetch(name, key, version, options, observers)
        observe_read(name, key, options, observers) do |payload|
          value = @values.read(key, version)
          value = fetch_as_entry(key, version, options, payload) if value.equal?(Values::SLOW)
          payload[:super_operation] = :fetch
          payload[:hit] = !value.equal?(Values::MISS)
          value
        end
      end

      # What Rails' `read` does with the entry.
      def read_as_entry(key, version, options, event = nil)
        entry = read_entry(key, **options, event: event)
        return Values::MISS if entry.nil?
        if entry.expired?
          delete_entry(key, **options)
          return Values::MISS
        end
        entry.mismatched?(version) ? Values::MISS : entry.value
      end

      # What Rails' `fetch` does with it.
      def fetch_as_entry(key, version, options, event)
        entry = handle_expired_entry(read_entry(key, **options, event: event), key, options)
        entry.nil? || entry.mismatched?(version) ? Values::MISS : entry.value
      end

      def compute(name, options, &)
        options = merged_options(options)
        save_block_result_to_cache(name, normalize_key(name, options), options, &)
      end

      def write_value(key, value, version, expires_in)
        options = @options
        ttl = backend_ttl(false, expires_in: expires_in, race_condition_ttl: options[:race_condition_ttl]) if expires_in
        @values.write(key, value, version, expires_in, ttl, options[:compress] ? options[:compress_threshold] : nil)
      end
    end
  end
end
