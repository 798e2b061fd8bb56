# frozen_string_literal: true

module Tiercel
  module Store
    module FastPath
      # Keys and versions of the common names, as Rails' `normalize_key` and
      # `normalize_version` give them.
      #
      # @private
      module Names
        NATIVE = Codec.native
        ANY_STRING = ""
        private_constant :NATIVE, :ANY_STRING

        private

        # @return [String, nil] the key, nil for a name that Rails has to normalize
        def key_of(name)
          expanded = plain_string?(name) ? name : expand(name)
          return if expanded.nil? || expanded.empty? || !text?(expanded)
          namespace = @options[:namespace]
          expanded = in_namespace(namespace, expanded) or return if namespace
          limit_bytes = @settings.max_key_bytes
          expanded if !limit_bytes || expanded.bytesize <= limit_bytes
        end

        # @param name [Object] one that has a key here
        # @return [String, nil] an Array always has a version, if only an empty one: so has it in Rails
        def version_of(name)
          return if name.instance_of?(String) || name.instance_of?(Symbol)
          name.instance_of?(Array) ? array_version(name) : normalize_version(name)
        end

        # @return [Array<String>, nil] the keys, the names themselves where they are what is asked for; nil where Rails
        #   has to normalize one, and where two names of one key may want different versions
        def keys_of(names)
          return if names.empty? || names.last.is_a?(Hash)
          return names if !@options[:namespace] && keys_as_they_are?(names)
          only_strings = true
          keys = names.map do |name|
            only_strings &&= name.instance_of?(String)
            key_of(name) or return
          end
          keys if only_strings || keys.uniq.size == keys.size
        end

        # @param names [Array<Object>] that have keys here
        # @return [Array<String, nil>, nil] nil where all of them are Strings, which have none
        def versions_of(names)
          return if names.all? { |name| name.instance_of?(String) }
          names.map { |name| version_of(name) }
        end

        # Even a String may have been given a key or a version of its own.
        def plain_string?(name)
          name.instance_of?(String) && !name.respond_to?(:cache_key) && !name.respond_to?(:cache_version)
        end

        # Whether a name is its own key, where there is no namespace.
        def key_as_it_is?(name)
          limit_bytes = @settings.max_key_bytes
          plain_string?(name) && !name.empty? && text?(name) && (!limit_bytes || name.bytesize <= limit_bytes)
        end

        # The same of many; the C form refuses a String that has methods of its own, whatever they are.
        def keys_as_they_are?(names)
          return names.all? { |name| key_as_it_is?(name) } unless NATIVE && plain_string?(ANY_STRING)
          NATIVE.plain_keys?(names, @settings.max_key_bytes)
        end

        def in_namespace(namespace, expanded)
          namespace = namespace.call if namespace.respond_to?(:call)
          namespace ? "#{namespace}:#{expanded}" : expanded
        end

        # Rails takes the bytes of other encodings for UTF-8.
        def text?(expanded) = expanded.encoding == Encoding::UTF_8 || expanded.ascii_only?

        def expand(name)
          if name.instance_of?(Symbol) then name.name
          elsif name.instance_of?(Array) then expand_array(name)
          elsif !name.instance_of?(String) && name.respond_to?(:cache_key) then name.cache_key.to_s
          end
        end

        def expand_array(names)
          expanded = +""
          names.each_with_index do |name, index|
            part = plain_string?(name) ? name : expand(name)
            return unless part
            expanded << "/" unless index.zero?
            expanded << part
          end
          expanded
        rescue Encoding::CompatibilityError
          nil # Rails says so in its own order
        end

        def array_version(names)
          versions = names.filter_map { |name| version_of(name) }
          versions.size == 1 ? versions.first : versions.join("/")
        end
      end
    end
  end
end
