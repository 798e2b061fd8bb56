# frozen_string_literal: true

require_relative "../../codec"
require_relative "names_in_ruby"

module Tiercel
  module Store
    module FastPath
      # Keys and versions of the common names, as Rails' `normalize_key` and
      # `normalize_version` give them.
      #
      # @private
      module Names
        RULES = Codec.native || NamesInRuby
        private_constant :RULES

        private

        # The usual String is its own key, and that is asked here, for less than a call of the extension costs.
        #
        # @param options [Hash, nil] of the call
        # @return [String, nil] the key, nil for a name that Rails has to normalize
        def key_of(name, options = nil)
          most = @settings.max_key_bytes
          return RULES.key(name, options[:namespace]&.to_s, most) if options&.key?(:namespace)
          if name.instance_of?(String) && @options[:namespace].nil? && !name.respond_to?(:cache_key) &&
             !name.respond_to?(:cache_version) && name.encoding == Encoding::UTF_8 && !name.empty? &&
             (!most || name.bytesize <= most)
            return name
          end
          RULES.key(name, namespace_now, most)
        end

        # @param names [Array<Object>]
        # @return [Array<String>, nil] the keys, the names themselves where they are what is asked for; nil where Rails
        #   has to normalize one
        def keys_of(names)
          return if names.empty? || names.last.instance_of?(Hash)
          RULES.keys(names, namespace_now, @settings.max_key_bytes)
        end

        # @return [Hash{Object => Object}] what was found under keys, under their names
        def by_name(found, names, keys) = RULES.by_name(found, names, keys)

        # Each Hash that a key comes into would intern it otherwise, for as much as a read near costs.
        #
        # @param keys [Array<String>]
        # @return [Array<String>] frozen copies of those that are not frozen
        def frozen_keys(keys) = RULES.frozen(keys)

        # @return [Boolean] whether these are tags of which Rails' way would have nothing to say
        def usual_tags?(tags) = RULES.usual_tags?(tags, Tags::Named::MAX_COUNT, Tags::Named::MAX_BYTES)

        # @param name [Object] one that has a key here
        # @return [String, nil]
        def version_of(name)
          return if name.instance_of?(String)
          version = RULES.version(name)
          version == false ? normalize_version(name) : version
        end

        # @return [String, nil] that of the option goes before the name's own
        def version_asked(name, options) = options.key?(:version) ? normalize_version(name, options) : version_of(name)

        # @param names [Array<Object>] that have keys here
        # @return [Array<String, nil>, nil] nil where all of them are Strings, which have none
        def versions_of(names)
          versions = RULES.versions(names)
          versions == false ? names.map { |name| version_of(name) } : versions
        end

        def namespace_now
          namespace = @options[:namespace] or return
          namespace = namespace.call or return if namespace.respond_to?(:call)
          namespace.to_s
        end
      end
    end
  end
end
