# frozen_string_literal: true

require_relative "../tags/named"

module Tiercel
  module Store
    module FastPath
      # A `fetch` that names tags, on a backend that does not compare tags itself. One trip reads the entry and the
      # generations of the tags. On a miss the value is stored with these generations.
      #
      # @private
      module Tagged
        private

        # @param options [Hash] the options that the caller passed
        # @param logged [String, nil] see {Events#log_call}
        # @yield the block of `fetch`
        # @return [Object] the value
        def fetch_tagged(name, key, version, options, logged, &)
          tags = tags_of(options)
          if subscribed?(Events::READ)
            options = options.merge(tags:)
            value = instrumented_fetch_read(name, key, version, options) { |event| read_of(key, version, tags, event) }
            return miss_or_generate(name, key, version, options, value, &) if Coder::Signal === value
          else
            value = read_of(key, version, tags)
            return decide(value, name, key, version, options.merge(tags:), &) if Coder::Signal === value
          end
          hit_value(value, name, options, logged)
        end

        # @param tags [Tags::Named, nil]
        def read_of(key, version, tags, event = nil)
          accessor = @settings.accessor
          tags ? accessor.read_tagged(key, version, tags, event) : accessor.read(key, version, event)
        end

        # @param options [Hash] options whose tags are Strings and Symbols of a valid length
        # @return [Tags::Named, nil] nil without tags
        def tags_of(options)
          names = options[:tags].map { |name| Tags::Named.text(name) }
          return if names.empty?
          names.uniq! if names.size > 1
          namespace = options.key?(:namespace) ? options[:namespace]&.to_s : namespace_now
          keys = names.map { |name| "#{Tags::KEY_PREFIX}#{name}".freeze }
          keys = RULES.keys(keys, namespace, @settings.max_key_bytes) || tag_keys(names, namespace)
          Tags::Named.new(names, keys)
        end

        # The generations that were read with an entry, if this fetch has read them.
        #
        # @param options [Hash, nil]
        # @return [Tags::Named, nil]
        def known_tags(options)
          tags = options && options[:tags]
          tags if Tags::Named === tags
        end
      end
    end
  end
end
