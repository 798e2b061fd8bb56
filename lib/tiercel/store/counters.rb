# frozen_string_literal: true

require_relative "../counter"

module Tiercel
  module Store
    # Counters: atomic in the backend, raw bytes there, with the end that they
    # were created with.
    module Counters
      # Tries of an increment that replaces an ordinary entry before it gives up.
      MAX_TRIES = 100

      # Adds to a counter and returns the new count. A key that is absent starts
      # at `amount`; `expires_in` counts only then. An entry that holds an
      # Integer (written without `raw: true`) becomes a counter.
      #
      # @param name [Object] as for `read`
      # @param amount [Integer]
      # @param options [Hash] `expires_in`, `expires_at`, `namespace`
      # @return [Integer, nil] the new count; nil where the backend failed or the value is not a number
      def increment(name, amount = 1, options = nil, **keywords)
        change_counter(:increment, name, amount, options, keywords) { Integer(amount) }
      end

      # Takes from a counter, otherwise as {#increment}.
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

      # Sets a counter, whatever was there.
      #
      # @param name [Object]
      # @param value [Integer]
      # @return [Boolean, nil] as `write`
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
        ttl = @settings.writer.ttl(true, expires_in: expires_in)
        count = @settings.accessor.count(operation, key) { |backend| counted(backend, key, amount, ttl) }
        @settings.writer.rewritten(key, count) if count
        count
      end

      # Another caller may replace, delete or count between each two steps; then
      # it begins anew.
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

      # Whether the bytes have become a counter meanwhile, and stay one.
      def countable?(bytes, amount)
        count = Counter.parse(bytes)
        !count.nil? && in_range?(count + amount)
      end

      def in_range?(count) = count.between?(Counter::MIN, Counter::MAX)

      # The bytes there are a frame: an Integer becomes a counter that keeps its
      # end, a frame that has ended (or whose tags were invalidated) counts as absent. Nil where it is neither: an
      # entry with tags too, since a counter has none.
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
