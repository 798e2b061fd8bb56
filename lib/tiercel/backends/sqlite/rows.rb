# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../counter"
require_relative "../disk_tokens"
require_relative "schema"

module Tiercel
  module Backends
    class SQLite < Backend
      # Finds and changes the row of a key with the statements of {Schema}, on the caller's connection.
      #
      # - `ttl`: seconds, nil for no expiry; `now`: epoch seconds of the change
      #
      # @private
      class Rows
        # @param ids [#[]] maps a key to its id
        def initialize(ids)
          @ids = ids
          @tokens = DiskTokens.new
        end

        # @return [Boolean] whether the key was absent
        def set(connection, key, bytes, ttl, now)
          connection.set(@ids[key], blob(key), blob(bytes), end_of(ttl, now), @tokens.next, micros(now))
        end

        # @return [Boolean] whether it was written
        def add(connection, key, bytes, ttl, now)
          connection.change(:add, @ids[key], blob(key), blob(bytes), end_of(ttl, now), @tokens.next, micros(now),
                            now) == 1
        end

        # @param token [Integer]
        # @return [Boolean] whether it was written
        def compare_and_set(connection, key, bytes, token, ttl, now)
          connection.change(:compare_and_set, @ids[key], blob(key), now, blob(bytes), end_of(ttl, now), @tokens.next,
                            micros(now), token) == 1
        end

        # @return [Boolean] whether there was an unexpired entry
        def delete(connection, key, now) = connection.change(:delete, @ids[key], blob(key), now) == 1

        # @return [Boolean] whether the entry existed
        def touch(connection, key, ttl, now)
          connection.change(:touch, @ids[key], blob(key), now, end_of(ttl, now)) == 1
        end

        # Requires the caller's transaction.
        #
        # @param amount [Integer]
        # @return [Array(Integer, Boolean)] the count, and the result of {#set}
        # @raise [NotACounter]
        def count_up(connection, key, amount, ttl, now)
          row = connection.find(@ids[key], key, false)
          row = nil if row && row[Schema::EXPIRES_AT]&.<=(now)
          count = row ? Counter.add(row[Schema::VALUE], amount, key) : Counter.in_range(amount, key)
          expires_at = row ? row[Schema::EXPIRES_AT] : end_of(ttl, now)
          [count, connection.set(@ids[key], blob(key), count.to_s.b, expires_at, @tokens.next, micros(now))]
        end

        private

        def blob(string) = string.encoding == Encoding::BINARY ? string : string.b

        def end_of(ttl, now) = ttl && (now + ttl).to_f

        def micros(now) = (now * 1_000_000).to_i
      end
    end
  end
end
