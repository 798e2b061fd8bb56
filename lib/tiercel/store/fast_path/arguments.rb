# frozen_string_literal: true

require_relative "../../codec"

module Tiercel
  module Store
    module FastPath
      # The arguments of a call: keys and versions of its names, as Rails' `normalize_key` and `normalize_version` give
      # them, and the options that the fast path knows.
      #
      # @private
      module Arguments
        # Rails' own methods serve the names that the extension leaves to them, and all names where it is not built.
        RULES = Codec.native
        private_constant :RULES

        private

        # The usual String is its own key, and that is asked here, for less than a call of the extension costs.
        #
        # @param options [Hash, nil] of the call
        # @return [String] the name itself only where the name is a String without a version
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
        # @return [Array<String>, nil] the keys, the names themselves where they are what is asked for; nil where Rails
        #   has to normalize one
        def keys_of(names)
          return if names.empty? || names.last.instance_of?(Hash)
          RULES&.keys(names, namespace_now, @settings.max_key_bytes)
        end

        # @return [Hash{Object => Object}] what was found under keys, under their names
        def by_name(found, names, keys) = RULES.by_name(found, names, keys)

        # Each Hash that a key comes into would intern it otherwise, for as much as a read near costs.
        #
        # @param keys [Array<String>]
        # @return [Array<String>] frozen copies of those that are not frozen
        def frozen_keys(keys) = RULES.frozen(keys)

        # @param key [String] of {#key_of}
        # @param options [Hash, nil] of the call: their version goes before the name's own
        # @return [String, nil]
        def version_of(name, key, options)
          return normalize_version(name, options) if options&.key?(:version)
          return if key.equal?(name)
          version = RULES ? RULES.version(name) : false
          version == false ? normalize_version(name) : version
        end

        # @param names [Array<Object>] that have keys here
        # @return [Array<String, nil>, nil] nil where all of them are Strings, which have none
        def versions_of(names)
          versions = RULES.versions(names)
          versions == false ? names.map { |name| normalize_version(name) } : versions
        end

        def namespace_now
          namespace = @options[:namespace] or return
          namespace = namespace.call or return if namespace.respond_to?(:call)
          namespace.to_s
        end

        def only_expires_in?(options) = options.size == 1 && ends?(options[:expires_in])

        def ends?(expires_in)
          case expires_in
          when Integer, Float, ActiveSupport::Duration then expires_in.to_f.positive?
          else false
          end
        end

        # An end, the usual tags, and what is asked for besides by a miss. All others are Rails' way's, which says what
        # is wrong.
        def usual_options?(options)
          count = ends?(options[:expires_in]) ? 1 : 0
          return true if count == options.size
          count += 1 if @fast_tags && (tags = options[:tags]) && usual_tags?(tags)
          count == options.size || usual_besides?(options, count)
        end

        # @return [Boolean] whether these are tags of which Rails' way would have nothing to say
        def usual_tags?(tags) = RULES&.usual_tags?(tags, Tags::Named::MAX_COUNT, Tags::Named::MAX_BYTES)

        # @param count [Integer] of those that are known already
        def usual_besides?(options, count)
          count += 1 if ends?(options[:race_condition_ttl])
          count += 1 if options[:skip_nil] == true
          count += 1 if options.key?(:version) && !@early
          count += 1 if options.key?(:namespace) && namespace?(options[:namespace])
          count == options.size
        end

        # One that runs no code of the application's.
        def namespace?(namespace) = namespace.nil? || namespace.instance_of?(String) || namespace.instance_of?(Symbol)
      end
    end
  end
end
