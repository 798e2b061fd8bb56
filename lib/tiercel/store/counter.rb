# frozen_string_literal: true

module Tiercel
  # Counts. The backend stores a counter as raw bytes and changes it atomically. A change keeps the counter's expiry.
  #
  # @private
  class Store::Counter
    # Maximum number of attempts to turn an ordinary entry into a counter.
    MAX_TRIES = 100
    private_constant :MAX_TRIES

    # @param amount [Object] the argument of `increment` or `decrement`
    # @return [Integer]
    # @raise [ArgumentError]
    def self.amount(operation, amount)
      return amount if Integer === amount
      raise ArgumentError, "#{operation}: expected an amount that is an Integer, got #{Redacted.text(amount)}: a " \
                           "counter holds whole numbers; round it, or write the value with `write`"
    end

    def initialize(accessor:, coder:, reader:, writer:)
      @accessor = accessor
      @coder = coder
      @reader = reader
      @writer = writer
    end

    # @param operation [Symbol] the public method, for reports
    # @param amount [Integer]
    # @param expires_in [Numeric, nil] of a new counter
    # @return [Integer, nil] the new count; nil if the backend failed or the value is not a number
    def change(operation, key, amount, expires_in)
      ttl = @writer.ttl(true, expires_in:)
      @accessor.count(operation, key) { |backend| counted(backend, key, amount, ttl) }
    end

    private

    # Starts again if another caller changes the entry between two steps.
    def counted(backend, key, amount, ttl)
      failure = nil
      MAX_TRIES.times do
        return backend.increment(key, amount, ttl)
      rescue NotACounter => failure
        bytes, token = backend.get_with_token(key)
        next if token.nil? || countable?(bytes, amount)
        count, rest = next_count(key, bytes, amount, ttl)
        break unless count && in_range?(count)
        return count if backend.compare_and_set(key, count.to_s, token, rest)
      end
      @reader.report_undecodable(failure, key)
    end

    # Returns whether another caller has turned the entry into a counter that can take the amount.
    def countable?(bytes, amount)
      count = Tiercel::Counter.parse(bytes)
      !count.nil? && in_range?(count + amount)
    end

    def in_range?(count) = count.between?(Tiercel::Counter::MIN, Tiercel::Counter::MAX)

    # Computes the count and the TTL of the counter that replaces an ordinary entry. An Integer becomes a counter with
    # the same expiry. An entry that is expired, or whose tags are invalidated, counts as absent. Any other entry
    # returns nil, and so does an entry with tags, because a counter has no tags.
    def next_count(key, bytes, amount, ttl)
      return if Tiercel::Counter.parse(bytes)
      entry = @coder.is_a?(Coder) ? @coder.load(bytes, key) : @coder.load(bytes)
      return [amount, ttl] if entry.nil? || entry.expired? || @reader.outdated?(entry)
      return if @reader.recorded_tags(entry)
      value = entry.value
      [value + amount, entry.expires_at && (entry.expires_at - Clock.now)] if value.is_a?(Integer)
    rescue MalformedFrame, SerializationError, ActiveSupport::Cache::DeserializationError
      nil
    end
  end
end
