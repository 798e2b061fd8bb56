# frozen_string_literal: true

require_relative "../counter"

module Tiercel
  module Store
    # Counters. The backend stores a counter as raw bytes and changes it atomically. A change keeps the counter's
    # expiry.
    module Counters
      # Maximum number of attempts to turn an ordinary entry into a counter.
      MAX_TRIES = 100

      # Increments a counter and returns the new count. An absent counter starts at `amount`, and only then `expires_in`
      # applies. An entry with an Integer (written without `raw: true`) becomes a counter.
      #
      # @param name [Object] as for `read`
      # @param amount [Integer]
      # @param options [Hash] `expires_in`, `expires_at`, `namespace`
      # @return [Integer, nil] the new count; nil if the backend failed or the value is not a number
      def increment(name, amount = 1, options = nil, **keywords)
        change_counter(:increment, name, amount, options, keywords) { Integer(amount) }
      end

      # Decrements a counter, otherwise like {#increment}.
      #
      # @return [Integer, nil]
      def decrement(name, amount = 1, options = nil, **keywords)
        change_counter(:decrement, name, amount, options, keywords) { -Integer(amount) }
      end

      # @param name [Object]
      # @return [Integer, nil] the count, nil if absent
      def read_counter(name, **options)
        read(name, **options, raw: true)&.to_i
      end

      # Sets a counter. Replaces any existing entry.
      #
      # @param name [Object]
      # @param value [Integer]
      # @return [Boolean, nil] like `write`
      def write_counter(name, value, **options)
        write(name, value.to_i, **options, raw: true)
      end

      private

      def change_counter(operation, name, amount, options, keywords)
        options = merged_options(options ? options.merge(keywords) : keywords)
        key = normalize_key(name, options)
        change = yield
        instrument(operation, key, { amount: amount }) do
          count(operation, key, change, options[:expires_in])
        end
      end

      def count(operation, key, amount, expires_in)
        return count_expired(operation, key, amount) if expires_in && expires_in.to_f <= 0
        ttl = @settings.writer.ttl(true, expires_in: expires_in)
        count = @settings.accessor.count(operation, key) { |backend| counted(backend, key, amount, ttl) }
        Tiercel::Fetch.wrote(@settings.backend, key, count) if count
        count
      end

      # A new counter that expires at once is not stored, because memcached would keep it for a second. An existing one
      # keeps its expiry.
      def count_expired(operation, key, amount)
        stored = nil
        count = @settings.accessor.count(operation, key) do |backend|
          stored = !in_range?(amount) || counts?(backend.get_with_token(key), amount)
          stored ? counted(backend, key, amount, Writer::SHORTEST_TTL) : amount
        end
        @settings.reader.remember(key, nil) if count && !stored && @settings.request_local
        Tiercel::Fetch.wrote(@settings.backend, key, count) if count && stored
        count
      end

      # Whether the entry exists, so that its expiry applies.
      def counts?((bytes, _token), amount)
        return false if bytes.nil?
        _, rest = next_count(bytes, amount, 0)
        rest != 0
      end

      # Another caller may change the entry between two steps; this method then starts again.
      def counted(backend, key, amount, ttl)
        failure = nil
        MAX_TRIES.times do
          return backend.increment(key, amount, ttl)
        rescue NotACounter => failure
          bytes, token = backend.get_with_token(key)
          next if token.nil? || countable?(bytes, amount)
          count, rest = next_count(bytes, amount, ttl)
          break unless count && in_range?(count)
          return count if backend.compare_and_set(key, count.to_s, token, rest)
        end
        @settings.reader.report_undecodable(failure, key)
      end

      # Whether another caller has turned the entry into a counter that stays within its range.
      def countable?(bytes, amount)
        count = Counter.parse(bytes)
        !count.nil? && in_range?(count + amount)
      end

      def in_range?(count) = count.between?(Counter::MIN, Counter::MAX)

      # Computes the count and the TTL of the counter that replaces an ordinary entry. An Integer becomes a counter with
      # the same expiry. An entry that is expired, or whose tags are invalidated, counts as absent. Any other entry
      # returns nil, and so does an entry with tags, because a counter has no tags.
      def next_count(bytes, amount, ttl)
        return if Counter.parse(bytes)
        entry = (@coder.equal?(RailsHooks::PASS_THROUGH) ? @settings.coder : @coder).load(bytes)
        return [amount, ttl] if entry.nil? || entry.expired? || @settings.reader.outdated?(entry)
        return if @settings.reader.recorded_tags(entry)
        value = entry.value
        [value + amount, entry.expires_at && (entry.expires_at - Clock.now)] if value.is_a?(Integer)
      rescue MalformedFrame, SerializationError, ActiveSupport::Cache::DeserializationError
        nil
      end
    end
  end
end
