# frozen_string_literal: true

require "tiercel/sizes"

module Tiercel
  module Lab
    module Simulator
      # An eviction policy without a medium: a cache with a capacity in bytes that keeps no values.
      #
      # This class handles sizes, expiry and counters. A policy implements {#on_hit}, {#on_insert}, {#on_remove} and
      # {#make_room}, and {#on_overwrite} if a write changes its order.
      #
      # Reads remove expired entries. Until then an expired entry occupies its room, as in a store that does not search
      # for expired entries.
      #
      # @abstract
      class Policy
        # A policy's record of one key. `hits` and `queue` belong to the policy.
        Entry = Struct.new(:key, :bytes, :expires_at, :hits, :queue)

        # @return [String] name for tables
        def self.title = name.split("::").last

        # @return [Integer] size in bytes
        attr_reader :capacity
        # @return [Integer] bytes in use, never above {#capacity}
        attr_reader :used
        # @return [Integer] entries dropped to make room
        attr_reader :evictions

        # @param capacity [Integer, String] bytes, see {Tiercel::Sizes}
        # @param weigher [#call] (key, bytes) -> share of the capacity, see {Weigher}
        # @raise [Tiercel::ConfigurationError] if capacity is not a size
        def initialize(capacity, weigher: Weigher::VALUE)
          @capacity = Sizes.bytes(capacity, option: :capacity)
          @weigher = weigher
          @entries = {}
          @used = 0
          @evictions = 0
          @index = 0
          @now = 0.0
        end

        # Runs once before a replay. Policies that know the future override it.
        #
        # @param trace [Trace]
        # @return [void]
        def prepare(trace); end

        # Runs before each request.
        #
        # @param index [Integer] number of the request in the trace
        # @param now [Float] seconds on the trace's clock
        # @return [void]
        def advance(index, now)
          @index = index
          @now = now
        end

        # @param key [String]
        # @return [Boolean] whether it is a hit
        def get(key)
          entry = live(key)
          return false unless entry
          on_hit(entry)
          true
        end

        # @param key [String]
        # @param bytes [Integer] size of the value
        # @param ttl [Numeric, nil] seconds
        # @return [Boolean] false if the value is larger than the capacity; any old value is removed
        def set(key, bytes, ttl = nil)
          cost = @weigher.call(key, bytes)
          entry = live(key)
          if cost > @capacity
            remove(entry) if entry
            return false
          end
          entry ? overwrite(entry, cost, ttl) : insert(key, cost, ttl)
          true
        end

        # @param key [String]
        # @return [Boolean] whether an entry was deleted
        def delete(key)
          entry = live(key)
          return false unless entry
          remove(entry)
          true
        end

        # @param key [String]
        # @return [Boolean] whether the key occupies room, expired or not; does not count as a read
        def holds?(key) = @entries.key?(key)

        # @return [Integer] number of entries that occupy room
        def size = @entries.size

        # @return [Array<String>] keys that occupy room, oldest first
        def keys = @entries.keys

        private

        # Returns a key's entry. Removes it if it has expired.
        def live(key)
          entry = @entries[key]
          return entry unless entry&.expires_at && entry.expires_at <= @now
          remove(entry)
          nil
        end

        def insert(key, cost, ttl)
          entry = Entry.new(key, cost, ttl && (@now + ttl), 0)
          make_room(cost)
          @entries[key] = entry
          @used += cost
          on_insert(entry)
        end

        # The entry stays in the policy's order while the policy makes room. An overwrite that grows may therefore evict
        # its own entry, which is then inserted again.
        def overwrite(entry, cost, ttl)
          on_overwrite(entry)
          make_room(cost - entry.bytes) if cost > entry.bytes
          return insert(entry.key, cost, ttl) unless @entries[entry.key].equal?(entry)
          resize(entry, cost)
          entry.expires_at = ttl && (@now + ttl)
        end

        def resize(entry, cost)
          @used += cost - entry.bytes
          entry.bytes = cost
        end

        def remove(entry)
          @entries.delete(entry.key)
          @used -= entry.bytes
          on_remove(entry)
        end

        def evict(entry)
          @evictions += 1
          remove(entry)
        end

        # @param entry [Entry] the entry that was hit
        def on_hit(entry); end

        # @param entry [Entry] a new entry
        def on_insert(entry) = raise(NotImplementedError)

        # @param entry [Entry] the entry, before its size and expiry change
        def on_overwrite(entry); end

        # @param entry [Entry] the entry to be removed, for any reason
        def on_remove(entry) = raise(NotImplementedError)

        # Evicts until `bytes` more bytes fit.
        def make_room(bytes) = raise(NotImplementedError)
      end
    end
  end
end
