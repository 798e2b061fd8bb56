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
        def fast_key(name)
          expanded = plain_string?(name) ? name : expand(name)
          return if expanded.nil? || expanded.empty? || !text?(expanded)
          namespace = @options[:namespace]
          expanded = in_namespace(namespace, expanded) or return if namespace
          expanded if !@max_key_size || expanded.bytesize <= @max_key_size
        end

        # Even a String may have been given a key or a version of its own.
        def plain_string?(name)
          name.instance_of?(String) && !name.respond_to?(:cache_key) && !name.respond_to?(:cache_version)
        end

        # Whether a name is its own key, where there is no namespace.
        def key_as_it_is?(name)
          plain_string?(name) && !name.empty? && text?(name) && (!@max_key_size || name.bytesize <= @max_key_size)
        end

        # The same of many; the C form refuses a String that has methods of its own, whatever they are.
        def keys_as_they_are?(names)
          return names.all? { |name| key_as_it_is?(name) } unless NATIVE && plain_string?(ANY_STRING)
          NATIVE.plain_keys?(names, @max_key_size)
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
        end

        # An Array always has a version, if only an empty one: so has it in Rails.
        #
        # @return [String, nil]
        def fast_version(name)
          return if plain_string?(name) || name.instance_of?(Symbol)
          name.instance_of?(Array) ? array_version(name) : normalize_version(name)
        end

        def array_version(names)
          versions = names.filter_map { |name| fast_version(name) }
          versions.size == 1 ? versions.first : versions.join("/")
        end
      end
    end
  end
end
