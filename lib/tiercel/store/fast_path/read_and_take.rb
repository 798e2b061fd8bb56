# frozen_string_literal: true

require_relative "../../frame"
require_relative "../../leases"
require_relative "../../leases/placeholder"
require_relative "../fetch/misses"

module Tiercel
  module Store
    module FastPath
      # A `fetch` after several misses in a row ({Fetch::ConsecutiveMisses}): one trip reads the key, and acquires its
      # lease if the key is absent. An existing value is returned like the value of a plain read, and ends the series of
      # misses.
      #
      # @private
      module ReadAndTake
        private

        # @param options [Hash, nil] the options that the caller passed
        # @yield the block of `fetch`
        # @return [Object] the value
        def fetch_and_take(name, key, version, options, &)
          merged = options ? merged_options(options) : @options
          if may_take?(key, merged)
            value = miss_uncontended(name, key, version, merged, @settings.policy, unread: true, &)
            return found_instead(value, name, key, version, options, &) if Accessor::Found === value
            return value unless Fetch::Misses::ELSEWHERE.equal?(value)
          end
          hit_or_decide(@settings.accessor.read(key, version), name, key, version, options, &)
        end

        # Whether {Fetch::Misses} would serve this miss, and the request-local cache remembers nothing for the key.
        def may_take?(key, options)
          policy = @settings.policy
          policy.lease && !policy.timeout? && options[:tags].nil? &&
            @settings.request_local&.current&.read_entry(key).nil?
        end

        # Callers that joined the flight read the existing entry too.
        def found_instead(found, name, key, version, options, &)
          @consecutive_misses.count = 0
          bytes = found.bytes
          value = @settings.accessor.decode(bytes, version) { found.token }
          @settings.request_local&.current&.write_entry(key, bytes) unless Leases::Placeholder.placeholder?(bytes)
          hit_or_decide(value, name, key, version, options, &)
        end

        def hit_or_decide(value, name, key, version, options, &)
          Coder::Signal === value ? decide(value, name, key, version, options, &) : hit_value(value, name, options)
        end
      end
    end
  end
end
