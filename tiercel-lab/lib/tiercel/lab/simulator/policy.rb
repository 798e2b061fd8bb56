# frozen_string_literal: true

require "tiercel/sizes"

module Tiercel
  module Lab
    module Simulator
      # A cache of a capacity in bytes that keeps no values: what an eviction
      # policy is without the medium.
      #
      # Everything that policies share is here: sizes, expiry, counting. A policy
      # implements {#on_hit}, {#on_insert}, {#on_remove} and {#make_room}, and
      # {#on_overwrite} where its order changes with a write.
      #
      # Expired entries are found when they are read; until then they keep their
      # room, as in a store that does not search for them.
      #
      # @abstract
      class Policy
        # A policy's record of one key. `hits` and `queue` belong to the policy.
        Entry = Struct.new(:key, :bytes, :expires_at, :hits, :queue)

        # @return [String] for tables
        def self.title = name.split("::").last

        # @return [Integer] bytes
        attr_reader :capacity
        # @return [Integer] bytes in use, never above {#capacity}
        attr_reader :used
        # @return [Integer] entries dropped to make room
        attr_reader :evictions

        # @param capacity [Integer, String] bytes, see {Tiercel::Sizes}
        # @param charge [#call] (key, bytes) -> bytes charged, see {Charge}
        # @raise [Tiercel::ConfigurationError] if capacity is not a size
        def initialize(capacity, charge: Charge::VALUE)
          @capacity = Sizes.bytes(capacity, option: :capacity)
          @charge = charge
          @entries = {}
          @used = 0
          @evictions = 0
          @index = 0
          @now = 0.0
        end

        # Called once before a replay. Policies that know the future override it.
        #
        # @param trace [Trace]
        # @return [void]
        def prepare(trace); end

        # Called before each request.
        #
        # @param index [Integer] place of the request in the trace
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
        # @return [Boolean] false if it can never fit; the old value is then gone
        def set(key, bytes, ttl = nil)
          cost = @charge.call(key, bytes)
          entry = live(key)
          if cost > @capacity
            remove(entry) if entry
            return false
          end
          entry ? overwrite(entry, cost, ttl) : insert(key, cost, ttl)
          true
        end

        # @param key [String]
        # @return [Boolean] whether there was something to delete
        def delete(key)
          entry = live(key)
          return false unless entry
          remove(entry)
          true
        end

        # @param key [String]
        # @return [Boolean] whether the key takes room, expired or not; touches nothing
        def holds?(key) = @entries.key?(key)

        # @return [Integer] entries that take room
        def size = @entries.size

        # @return [Array<String>] keys that take room, oldest first
        def keys = @entries.keys

        private

        # The entry of a key; one whose end has come is removed.
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

        # The entry is in the policy's order while room is made, so an overwrite
        # that grows may evict the very entry; it is then inserted again.
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

        # @param entry [Entry] one that was just read
        def on_hit(entry); end

        # @param entry [Entry] a new one
        def on_insert(entry) = raise(NotImplementedError)

        # @param entry [Entry] one that is about to get another size and end
        def on_overwrite(entry); end

        # @param entry [Entry] one that leaves, whatever the reason
        def on_remove(entry) = raise(NotImplementedError)

        # Evicts until `bytes` more fit.
        def make_room(bytes) = raise(NotImplementedError)
      end
    end
  end
end
