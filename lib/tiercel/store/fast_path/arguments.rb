# frozen_string_literal: true

require_relative "../../codec"

module Tiercel
  module Store
    module FastPath
      # Reads a call's arguments: the keys and versions of its names, as Rails' `normalize_key` and `normalize_version`
      # return them, and the options that the fast path knows.
      #
      # @private
      module Arguments
        # The C extension, or nil if it is not built. Rails' own methods serve all names that the extension does not
        # handle.
        RULES = Codec.native
        private_constant :RULES

        private

        # Most names are Strings that are their own keys. Checking this in Ruby costs less than a call of the extension.
        #
        # @param options [Hash, nil] options of the call
        # @return [String] the key; the name itself if the name is a String without a version
        # @raise [ArgumentError] for a blank name
        def key_of(name, options)
          most = @settings.max_key_bytes
          own = options&.key?(:namespace)
          if name.instance_of?(String) && @options[:namespace].nil? && !own && !name.respond_to?(:cache_key) &&
             !name.respond_to?(:cache_version) && name.encoding == Encoding::UTF_8 && !name.empty? &&
             (!most || name.bytesize <= most)
            return name
          end
          RULES&.key(name, own ? options[:namespace]&.to_s : namespace_now, most) || normalize_key(name, options).dup
        end

        # @param names [Array<Object>]
        # @return [Array<String>, nil] the keys; a name that is its own key is returned itself. Nil if Rails has to
        #   normalize a name
        def keys_of(names)
          return if names.empty? || names.last.instance_of?(Hash)
          RULES&.keys(names, namespace_now, @settings.max_key_bytes)
        end

        # @return [Hash{Object => Object}] the found values by name instead of key
        def by_name(found, names, keys) = RULES.by_name(found, names, keys)

        # Freezes keys, because a Hash interns an unfrozen String, which costs as much as a read from shared memory.
        #
        # @param keys [Array<String>]
        # @return [Array<String>] the keys; an unfrozen key is replaced by a frozen copy
        def frozen_keys(keys) = RULES.frozen(keys)

        # @param key [String] the result of {#key_of}
        # @param options [Hash, nil] options of the call; a `version:` in them overrides the name's own version
        # @return [String, nil]
        def version_of(name, key, options)
          return normalize_version(name, options) if options&.key?(:version)
          return if key.equal?(name)
          version = RULES ? RULES.version(name) : false
          version == false ? normalize_version(name) : version
        end

        # @param names [Array<Object>] names for which {#keys_of} returned keys
        # @return [Array<String, nil>, nil] nil if all names are Strings, which have no version
        def versions_of(names)
          versions = RULES.versions(names)
          versions == false ? names.map { |name| normalize_version(name) } : versions
        end

        def namespace_now
          namespace = @options[:namespace] or return
          namespace = namespace.call or return if namespace.respond_to?(:call)
          namespace.to_s
        end

        def only_expires_in?(options)
          options.size == 1 && options.key?(:expires_in) && RULES&.lasts?(options[:expires_in])
        end

        # Accepts an expiry, valid tags, and the options that a miss commonly uses. Rails' own methods handle all other
        # options and report invalid ones.
        #
        # @return [Hash, nil, false] the options if the key or the version depends on them, nil if neither does; false
        #   if Rails has to handle one of them
        def naming_options(options)
          return false unless RULES
          RULES.naming_options(options, @fast_tags ? Tags::Named::MAX_COUNT : nil, Tags::Named::MAX_BYTES, !@early)
        end
      end
    end
  end
end
