# frozen_string_literal: true

module Tiercel
  module Store
    module FastPath
      # The multi operations for names that are Strings and have no versions.
      #
      # @private
      module Multi
        # See ActiveSupport::Cache::Store#read_multi.
        def read_multi(*names)
          return super unless fast? && (keys = fast_keys(names))
          return super if observed?("cache_read_multi.active_support")
          found = @values.read_multi(keys, slow = [])
          slow.empty? ? by_name(found, names, keys) : super
        end

        # See ActiveSupport::Cache::Store#fetch_multi.
        def fetch_multi(*names)
          return super unless block_given? && fast? && (keys = fast_keys(names)) && !@options[:skip_nil]
          return super if observed?("cache_read_multi.active_support")
          found = @values.read_multi(keys, slow = [])
          return super unless slow.empty?
          found = by_name(found, names, keys)
          writes = {}
          ordered = names.index_with { |name| found.fetch(name) { writes[name] = yield(name) } }
          write_multi(writes)
          ordered
        end

        # See ActiveSupport::Cache::Store#write_multi.
        def write_multi(hash, options = nil)
          return super unless options.nil? && fast? && @fast_writes && (keys = fast_keys(hash.keys))
          return super if observed?("cache_write_multi.active_support")
          expires_in = @options[:expires_in]
          frames = hash.each_value.with_index.to_h { |value, index| [keys[index], frame_of(value, expires_in)] }
          set_frames(frames, backend_ttl(false, expires_in: expires_in,
                                                race_condition_ttl: @options[:race_condition_ttl]))
        end

        private

        def fast_keys(names)
          return if names.empty?
          return (names if keys_as_they_are?(names)) unless @options[:namespace]
          names.map do |name|
            return unless name.instance_of?(String) && (key = fast_key(name))
            key
          end
        end

        def by_name(found, names, keys)
          return found unless @options[:namespace]
          keys.each_with_index.with_object({}) do |(key, index), results|
            results[names[index]] = found[key] if found.key?(key)
          end
        end

        def frame_of(value, expires_in)
          expires_at = expires_in && Clock.now + expires_in.to_f
          @frame_coder.dump_value(value, expires_at, nil, @options[:compress], @options[:compress_threshold])
        end
      end
    end
  end
end
