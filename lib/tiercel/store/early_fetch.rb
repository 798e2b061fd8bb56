# frozen_string_literal: true

require_relative "../clock"
require_relative "../deep_freeze"
require_relative "../frame"
require_relative "../leases/placeholder"
require_relative "fetch/fetcher"
require_relative "fetch/refresh"

module Tiercel
  module Store
    # `fetch` with `early_refresh:`. After a hit it checks the time until the value expires. {Fetch::Refresh} computes a
    # new value if that time is short.
    module EarlyFetch
      private

      # Refreshes the values of a `fetch_multi`. A call refreshes at most one name, the one that expires first, unless
      # it refreshes in the background.
      #
      # @param values [Hash{Object => Object}] by name
      # @param ends [Hash{Object => Float}] expiry times by name, in epoch seconds
      # @return [Hash{Object => Object}] the values, or newer ones
      def refresh_several(values, ends, options, policy)
        soon(ends, options, policy).each do |name, ends_at|
          values[name] = refresh_early(name, values[name], ends_at, options, policy) { |asked, _options| yield asked }
        end
        values
      end

      def soon(ends, options, policy)
        seconds = policy.early_refresh * options[:expires_in].to_f
        due = ends.select { |_, ends_at| Fetch::Refresh.due?(ends_at, seconds) }
        policy.background? ? due : due.min_by(1, &:last)
      end

      # Replaces the fast path's `fetch`. A value that expires later is returned at once. Otherwise the entry's bytes
      # contain the exact expiry.
      def fetch_early(name, key, version, options, &)
        ttl = options&.fetch(:expires_in, nil) || @options[:expires_in]
        seconds = ttl ? @settings.policy.early_refresh * ttl.to_f : 0
        found = nil
        if subscribed?(Events::READ)
          value = instrumented_fetch_read(name, key, version, options) do |event|
            plain_value(found = @settings.accessor.read_lasting(key, version, seconds, event), version)
          end
          value = Accessor::MISS if Coder::Signal === value
        else
          value = plain_value(found = @settings.accessor.read_lasting(key, version, seconds), version)
          value = value_for_fetch(value, key, version, options) if Coder::Signal === value
        end
        return miss_or_generate(name, key, version, options, found, &) if Accessor::MISS.equal?(value)
        DeepFreeze.call(value) if @settings.frozen_values
        value = hit_value(value, name, options)
        ends_at = (end_of(found.bytes) if ttl && Accessor::Found === found)
        return value unless Fetch::Refresh.due?(ends_at, seconds)
        refresh_early(name, value, ends_at, merged_options(options), @settings.policy, &)
      end

      # @param found [Object] the result of {Accessor#read_lasting}
      def plain_value(found, version)
        Accessor::Found === found ? @settings.accessor.decode(found.bytes, version) : found
      end

      # @return [Float, nil] epoch seconds
      def end_of(bytes)
        bytes = Leases::Placeholder.visible(bytes)
        Frame.ends_at(bytes) if bytes && Frame.frame?(bytes)
      end

      # @return [Object] the value, or a newer one
      def refresh_early(name, value, ends_at, options, policy, &)
        return value unless policy.lease && (ttl = options[:expires_in])
        seconds = policy.early_refresh * ttl.to_f
        return value unless Fetch::Refresh.due?(ends_at, seconds)
        key, version = normalize_key(name, options), normalize_version(name, options)
        call = Fetch::Refresh.new(self, @settings, name, key, version, options, policy, value:, seconds:, &)
        return value unless call.begin_refresh
        values = Fetch::Fetcher.new(@settings, policy).values_without_waiting([call])
        notify(call, true) if call.trace&.timeout
        values.fetch(call, value)
      end
    end
  end
end
