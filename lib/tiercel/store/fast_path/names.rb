# frozen_string_literal: true

module Tiercel
  module Store
    module FastPath
      # Keys and versions of the common names, as Rails' `normalize_key` and
      # `normalize_version` give them.
      #
      # @private
      module Names
        private

        # @return [String, nil] the key, nil for a name that Rails has to normalize
        def fast_key(name)
          expanded = name.instance_of?(String) ? name : expand(name)
          return if expanded.nil? || expanded.empty?
          namespace = @options[:namespace]
          expanded = in_namespace(namespace, expanded) or return if namespace
          expanded if !@max_key_size || expanded.bytesize <= @max_key_size
        end

        def in_namespace(namespace, expanded)
          namespace = namespace.call if namespace.respond_to?(:call)
          return expanded unless namespace
          "#{namespace}:#{expanded}" if expanded.encoding == Encoding::UTF_8 || expanded.ascii_only?
        end

        def expand(name)
          case name
          when Symbol then name.name
          when Array then expand_array(name)
          when String, Hash then nil
          else name.cache_key.to_s if name.respond_to?(:cache_key)
          end
        end

        def expand_array(names)
          return if names.empty? || names.respond_to?(:cache_key)
          parts = names.map do |name|
            part = name.instance_of?(String) ? name : expand(name)
            return unless part
            part
          end
          parts.join("/")
        end

        # An Array always has a version, if only an empty one: so has it in Rails.
        #
        # @return [String, nil]
        def fast_version(name)
          name.instance_of?(String) || name.instance_of?(Symbol) ? nil : normalize_version(name)
        end
      end
    end
  end
end
