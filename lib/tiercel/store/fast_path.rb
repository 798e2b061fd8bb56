# frozen_string_literal: true

require_relative "../codec"
require_relative "events"
require_relative "fast_path/conditions"
require_relative "fast_path/multi"
require_relative "fast_path/tagged"

module Tiercel
  module Store
    # Serves the common calls at the speed of the backend.
    #
    # For every call, Rails' own methods merge options, normalize the name, instrument the call and build an Entry. This
    # costs more than a lookup in shared memory. Each method here serves the names and options that it supports, and
    # passes all other calls to Rails' method (`super`).
    #
    #   read, fetch:  @fast -> key and version -> Accessor#read -> value
    #                 a Found -> value_for_read decodes its bytes, as Rails' own methods would
    #   fetch, miss:  the block -> write
    #   write:        @fast -> key and version -> Accessor#write
    #
    # With a debug logger the same steps follow the call's line. With a subscriber they run inside the event
    # ({Events#send_event}).
    #
    # Both paths must behave alike, except for their speed; test/store/property_test.rb compares them.
    module FastPath
      include Conditions
      include Multi
      include Tagged

      MISS = Accessor::MISS
      # Reads names and options in C; nil if the extension is not built. Rails' own methods serve all names and options
      # that the extension does not handle.
      RULES = Codec.native
      private_constant :MISS, :RULES

      # See ActiveSupport::Cache::Store#read. The `cache` helper of views passes an empty Hash, or options for the
      # write.
      def read(name, options = nil)
        options = nil if options && options.empty?
        naming = options && naming_options(options, @read_tags)
        return super if naming == false || !@fast
        key = key_of(name, naming)
        version = version_of(name, key, naming) unless naming.nil? && key.equal?(name)
        unless quiet?
          log_call(:read, key, options) if debug_logger?
          return instrumented_read(name, key, version, options) if subscribed?(Events::READ)
        end
        value = @settings.accessor.read(key, version)
        return value unless Coder::Signal === value
        value = value_for_read(value, key, version)
        value unless MISS.equal?(value)
      end

      # See ActiveSupport::Cache::Store#fetch.
      def fetch(name, options = nil, &)
        options = nil if options && options.empty?
        naming = options && naming_options(options, @fetch_tags)
        return super if naming == false || !block_given? || !@fast_fetch
        key = key_of(name, naming)
        version = version_of(name, key, naming) unless naming.nil? && key.equal?(name)
        quiet = quiet?
        logged = log_call(:read, key, options) if !quiet && debug_logger?
        tagged = !@fast_tags && options && options[:tags]
        return fetch_tagged(name, key, version, options, logged, &) if tagged
        return instrumented_fetch(name, key, version, options, &) if !quiet && subscribed?(Events::READ)
        value = @settings.accessor.read(key, version)
        return decide(value, name, key, version, options, &) if Coder::Signal === value
        quiet? ? value : hit_value(value, name, options, logged)
      end

      # See ActiveSupport::Cache::Store#write.
      def write(name, value, options = nil)
        options = nil if !options || options.empty?
        return super unless @fast && @fast_writes && (options.nil? || only_expires_in?(options))
        return super if Tiercel::Fetch.inside? # Rails' path notes a write of the block's own key
        key = key_of(name, nil)
        version = version_of(name, key, nil) unless key.equal?(name)
        log_call(:write, key, options) if debug_logger?
        return write_value(key, value, version, options) unless subscribed?(Events::WRITE)
        send_event_of_name(:write, Events::WRITE, name, key, options) do
          write_value(key, value, version, options)
        end
      end

      # See ActiveSupport::Cache::Store#delete.
      def delete(name, options = nil)
        options = nil if options && options.empty?
        return super unless options.nil? && @fast
        key = key_of(name, nil)
        Tiercel::Fetch.deleted(@settings.backend, key) if Tiercel::Fetch.inside?
        log_call(:delete, key, nil) if debug_logger?
        return @settings.accessor.delete(key) unless subscribed?(Events::DELETE)
        send_event_of_name(:delete, Events::DELETE, name, key, nil) { @settings.accessor.delete(key) }
      end

      # See ActiveSupport::Cache::Store#exist?.
      def exist?(name, options = nil)
        options = nil if options && options.empty?
        return super unless options.nil? && @fast
        key = key_of(name, nil)
        version = version_of(name, key, nil) unless key.equal?(name)
        return present?(key, version) unless heard?(Events::EXIST)
        options = (@options if Events::RAILS_8_2)
        instrument(:exist?, event_key(name, key, @options), options) { |payload| present?(key, version, payload) }
      end

      # See {Counters#increment}.
      def increment(name, amount = 1, options = nil, **keywords)
        return super unless options.nil? && keywords.empty? && @fast
        return super if heard?(Events::INCREMENT)
        key = key_of(name, nil)
        count(:increment, key, Integer(amount), @options[:expires_in])
      end

      private

      # Most names are Strings that are their own keys.
      #
      # @param options [Hash, nil] options of the call
      # @return [String] the key, as Rails' `normalize_key` returns it; the name itself if the name is a String without
      #   a version
      # @raise [ArgumentError] for a blank name
      def key_of(name, options)
        most = @settings.max_key_bytes
        if name.instance_of?(String) && !name.respond_to?(:cache_key) && !name.respond_to?(:cache_version) &&
           RULES&.own_key?(name, @options, options, most)
          return name
        end
        namespace = options&.key?(:namespace) ? options[:namespace]&.to_s : namespace_now
        RULES&.key(name, namespace, most) || normalize_key(name, options).dup
      end

      # @param key [String] the result of {#key_of}
      # @param options [Hash, nil] options of the call; a `version:` in them overrides the name's own version
      # @return [String, nil]
      def version_of(name, key, options)
        return normalize_version(name, options) if options&.key?(:version)
        return if key.equal?(name)
        version = RULES ? RULES.version(name) : false
        version == false ? normalize_version(name) : version
      end

      def namespace_now
        namespace = @options[:namespace] or return
        namespace = namespace.call or return if namespace.respond_to?(:call)
        namespace.to_s
      end

      def only_expires_in?(options)
        options.size == 1 && options.key?(:expires_in) && RULES&.lasts?(options[:expires_in])
      end

      # Accepts an expiry, valid tags, and the options that a miss commonly uses. Rails reports invalid options.
      #
      # @param most_tags [Integer, nil] nil if Rails has to handle tags
      # @return [Hash, nil, false] the options if the key or the version depends on them, nil if neither does; false if
      #   Rails has to handle one of them
      def naming_options(options, most_tags)
        return false unless RULES
        RULES.naming_options(options, most_tags, Tags::Named::MAX_BYTES, true)
      end

      def instrumented_read(name, key, version, options)
        send_event_of_name(:read, Events::READ, name, key, options) do |payload|
          value = @settings.accessor.read(key, version, payload)
          value = value_for_read(value, key, version) if Coder::Signal === value
          value if (payload[:hit] = hit?(value, payload))
        end
      end

      def instrumented_fetch(name, key, version, options, &)
        value = instrumented_fetch_read(name, key, version, options) do |event|
          @settings.accessor.read(key, version, event)
        end
        return miss_or_generate(name, key, version, options, value, &) if Coder::Signal === value
        hit_value(value, name, options)
      end

      # @yieldparam event [Hash] the payload
      # @yieldreturn [Object] the result of {Accessor#read}
      # @return [Object] the value; after a miss the value of the block
      def instrumented_fetch_read(name, key, version, options)
        send_event_of_name(:read, Events::READ, name, key, options) do |payload|
          found = value = yield payload
          value = value_for_fetch(found, key, version, options) if Coder::Signal === found
          payload[:super_operation] = :fetch
          (payload[:hit] = hit?(value, payload)) ? value : found
        end
      end

      # If the value is unusable (expired, or of another version), the payload names no tier.
      def hit?(value, payload)
        return true unless MISS.equal?(value)
        payload.delete(:tier)
        false
      end

      def write_value(key, value, version, options)
        defaults = @options
        if (expires_in = options ? options[:expires_in] : defaults[:expires_in])
          expires_in = expires_in.to_f
          ttl = @settings.writer.ttl(false, expires_in: expires_in, race_condition_ttl: defaults[:race_condition_ttl])
          ends = @settings.writer.end_after(expires_in)
        end
        @settings.accessor.write(key, value, version, ends, ttl, compress_threshold(defaults))
      end

      def present?(key, version, event = nil)
        value = @settings.accessor.read(key, version, event)
        !(Coder::Signal === value) || live?(value, key, version)
      end

      # Completes a fetch whose read was a miss or returned a Found.
      def decide(found, name, key, version, options, &)
        return miss_or_generate(name, key, version, options, found, &) if MISS.equal?(found)
        value = value_for_fetch(found, key, version, options)
        MISS.equal?(value) ? miss_or_generate(name, key, version, options, found, &) : hit_value(value, name, options)
      end

      # @param text [String, nil] see {Events#log_call}
      # @return [Object] the value
      def hit_value(value, name, options, text = nil)
        log_call(:fetch_hit, name_of_hit(name, options), options, text) if debug_logger?
        return value unless subscribed?(Events::FETCH_HIT)
        send_event(:fetch_hit, Events::FETCH_HIT, name_of_hit(name, options), event_options(options))
        value
      end

      def name_of_hit(name, options) = Events::RAILS_8_2 ? normalize_key(name, event_options(options)) : name

      # Returns a Found's value if Rails' `read` would return it.
      def value_for_read(found, key, version)
        entry = entry_of(found, key) or return MISS
        return entry.mismatched?(version) ? MISS : entry.value unless entry.expired?
        delete_entry(key) unless @settings.policy.lease
        MISS
      end

      # Returns a Found's value if Rails' `fetch` would return it.
      def value_for_fetch(found, key, version, options)
        entry = entry_of(found, key, options:) or return MISS
        entry = handle_expired_entry(entry, key, merged_options(options))
        entry.nil? || entry.mismatched?(version) ? MISS : entry.value
      end

      # Decides like Rails' `exist?`.
      def live?(found, key, version)
        entry = entry_of(found, key)
        !entry.nil? && !entry.expired? && !entry.mismatched?(version)
      end

      # @return [ActiveSupport::Cache::Entry, nil] the entry in a Found's bytes
      def entry_of(found, key, compare: true, options: nil)
        return if MISS.equal?(found)
        deserialize_entry(found.bytes, key: key, compare: compare, tags: known_tags(options))
      end

      # One caller computes a missing value ({Fetch}), or, with `lease: false`, every caller.
      def miss_or_generate(name, key, version, options, found, &)
        policy = @settings.policy
        options = options ? merged_options(options) : @options
        unless policy.lease
          key = event_key(name, key, options) if heard?(Events::GENERATE)
          return save_block_result_to_cache(name, key, options, &)
        end
        found = nil if MISS.equal?(found)
        @settings.fetch.value(self, name, key, version, options, policy, found, &)
      end

      # Returns the size in bytes from which values are compressed; nil for no compression.
      def compress_threshold(options) = options[:compress] ? options[:compress_threshold] : nil
    end
  end
end
