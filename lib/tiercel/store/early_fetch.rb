# frozen_string_literal: true

require_relative "../clock"
require_relative "../deep_freeze"
require_relative "../frame"
require_relative "../leases/placeholder"
require_relative "fetch/early_refresh"

module Tiercel
  module Store
    # `fetch` with `early_refresh:`: a hit is looked at once more, for the time that is left of it. What comes of that
    # is {Fetch::EarlyRefresh}'s.
    #
    # Both ways come here: the fast path by {#fetch_early}, Rails' own `fetch`, which says what it has found to
    # `get_entry_value` alone, by {#fetch}; `fetch_multi` by {#refresh_several}.
    module EarlyFetch
      # Name and block of the `fetch` that is reading. Kept with the fiber.
      BLOCK = :tiercel_early_block
      # The ends of what the `fetch_multi` that is reading has found: names and epoch seconds. Kept with the fiber.
      ENDS = :tiercel_early_ends
      private_constant :BLOCK

      # See ActiveSupport::Cache::Store#fetch.
      def fetch(name, options = nil, &)
        return super unless block_given? && (options&.key?(:early_refresh) || @settings.policy.early_refresh)
        before = Thread.current[BLOCK]
        begin
          super(name, options, &kept(name, &))
        ensure
          Thread.current[BLOCK] = before
        end
      end

      private

      # What {Fetch#fetch_multi} does around its read. No call refreshes more than one name, the one that ends first,
      # but in the background.
      #
      # @yieldreturn [Hash] names and values
      # @return [Hash] the same, or newer ones
      def refresh_several(options, policy, block)
        before = Thread.current[ENDS]
        ends = Thread.current[ENDS] = {}
        values = yield
        Thread.current[ENDS] = nil
        soon(ends, options, policy).each do |name, ends_at|
          next unless values.key?(name)
          values[name] = refresh_early(name, values[name], ends_at, options) { |asked, _options| block.call(asked) }
        end
        values
      ensure
        Thread.current[ENDS] = before
      end

      def soon(ends, options, policy)
        seconds = policy.early_refresh * options[:expires_in].to_f
        due = ends.select { |_, ends_at| Fetch::EarlyRefresh.due?(ends_at, seconds) }
        policy.background? ? due : due.min_by(1, &:last)
      end

      # The block is kept until there is a hit, or it is called because there is none.
      def kept(name, &block)
        Thread.current[BLOCK] = [name, block]
        lambda do |*arguments|
          Thread.current[BLOCK] = nil
          block.call(*arguments)
        end
      end

      # Rails 8.2 gives it the key, which is no name: with a namespace it would get that twice.
      def get_entry_value(entry, _name_or_key, options)
        value = super
        name, block = Thread.current[BLOCK]
        return value unless block
        Thread.current[BLOCK] = nil
        refresh_early(name, value, entry.expires_at, options, &block)
      end

      # What the fast path does in the place of its own `fetch`, where nobody watches.
      def fetch_early(name, key, options, &)
        version = version_of(name)
        bytes = @settings.accessor.get(key)
        value = found = bytes ? @settings.accessor.decode(bytes, version) : Coder::MISS
        if Coder::Signal === value
          value = settle_for_fetch(found, key, version, options)
          return miss_or_generate(name, key, version, options, found, &) if Coder::MISS.equal?(value)
        end
        DeepFreeze.call(value) if @settings.frozen_values
        ttl = options&.fetch(:expires_in, nil) || @options[:expires_in]
        ends_at = ttl && end_of(bytes)
        return value unless Fetch::EarlyRefresh.due?(ends_at, @settings.policy.early_refresh * ttl.to_f)
        refresh_early(name, value, ends_at, merged_options(options), &)
      end

      # @return [Float, nil] epoch seconds
      def end_of(bytes)
        bytes = Leases::Placeholder.visible(bytes)
        Frame.ends_at(bytes) if bytes && Frame.frame?(bytes)
      end

      # @return [Object] the value, or a newer one
      def refresh_early(name, value, ends_at, options, &)
        policy = policy_for(options)
        return value unless policy.early_refresh && policy.lease && (ttl = options[:expires_in])
        seconds = policy.early_refresh * ttl.to_f
        return value unless Fetch::EarlyRefresh.due?(ends_at, seconds)
        key, version = normalize_key(name, options), normalize_version(name, options)
        hit = Fetch::EarlyRefresh::Hit.new(self, name, key, version, options, policy, value:, seconds:, &)
        Fetch::EarlyRefresh.new(@settings, hit, value).value.tap { notify(hit, true) if hit.account&.timeout }
      end
    end
  end
end
