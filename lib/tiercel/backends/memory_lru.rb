# frozen_string_literal: true

require_relative "../backend"
require_relative "../counter"
require_relative "../sizes"

module Tiercel
  module Backends
    # A byte-bounded LRU in plain Ruby: `memory:` without the C extension. It counts bytes exactly, does bounded work
    # per write, and uses one lock.
    class MemoryLRU < Backend
      # The bytes of a Hash slot, the item and two Strings in CRuby on 64 bits.
      ENTRY_OVERHEAD_BYTES = 240
      DEFAULT_SIZE = "32MB"
      # A value may use this fraction of the size; a larger one is refused.
      LARGEST_VALUE_SHARE = 4
      # Maximum number of evictions in one write. If they do not free enough space (a large value among very many
      # small ones), the write is refused.
      MAX_EVICTIONS_PER_WRITE = 4_096

      Item = Struct.new(:bytes, :expires_at, :token, :cost_bytes) do
        def expired?(now) = expires_at && expires_at <= now
      end
      private_constant :Item

      # @return [Array<Symbol>] names of the options of {.build}
      def self.option_names = [:size]

      # @param _url [BackendURL]
      # @param options [Hash] `size:` bytes or a String such as "32MB"
      # @return [MemoryLRU]
      def self.build(_url, options) = new(**options)

      # @param size [Integer, String] maximum bytes of keys, values and their overhead together
      def initialize(size: DEFAULT_SIZE)
        @size_bytes = Sizes.bytes(size)
        @lock = Monitor.new
        @items = {}
        @bytes = 0
        @last_token = 0
        @hits = @misses = @evictions = 0
      end

      def get(key)
        @lock.synchronize { live(key, count: true)&.bytes }
      end

      def get_with_token(key)
        @lock.synchronize do
          item = live(key, count: true)
          [item.bytes, item.token] if item
        end
      end

      def set(key, bytes, ttl = nil)
        @lock.synchronize { store(key, bytes, end_of(ttl)) }
      end

      def add(key, bytes, ttl = nil)
        @lock.synchronize { live(key) ? false : store(key, bytes, end_of(ttl)) }
      end

      def compare_and_set(key, bytes, token, ttl = nil)
        @lock.synchronize do
          next false unless live(key)&.token == token
          store(key, bytes, end_of(ttl)) or raise Refused.new("the value is too large", backend: to_s, key: key)
        end
      end

      def delete(key)
        @lock.synchronize do
          present = live(key)
          remove(key) if present
          !present.nil?
        end
      end

      def increment(key, amount = 1, ttl = nil)
        @lock.synchronize do
          item = live(key)
          count = item ? Counter.add(item.bytes, amount, key) : Counter.in_range(amount, key)
          store(key, count.to_s, item ? item.expires_at : end_of(ttl))
          count
        end
      end

      def touch(key, ttl)
        @lock.synchronize do
          item = live(key)
          item.expires_at = end_of(ttl) if item
          !item.nil?
        end
      end

      def scan(prefix = nil, &block)
        return enum_for(:scan, prefix) unless block
        now = Clock.now
        prefix &&= prefix.b
        keys = @lock.synchronize { @items.filter_map { |key, item| key unless item.expired?(now) } }
        keys.each { |key| yield key if prefix.nil? || key.start_with?(prefix) }
        nil
      end

      def cleanup
        now = Clock.now
        @lock.synchronize do
          expired = @items.filter_map { |key, item| key if item.expired?(now) }
          expired.each { |key| remove(key) }.size
        end
      end

      def stats
        @lock.synchronize do
          { entries: @items.size, bytes: @bytes, size: @size_bytes, hits: @hits, misses: @misses,
            evictions: @evictions }
        end
      end

      def near? = true
      def to_s = "memory:"

      private

      def clear_all
        @lock.synchronize do
          @items.clear
          @bytes = 0
        end
        nil
      end

      # Returns the item and makes it the most recently used one; removes an expired item and returns nil.
      def live(key, count: false)
        key = key.b
        item = @items.delete(key)
        if item&.expired?(Clock.now)
          @bytes -= item.cost_bytes
          item = nil
        end
        @items[key] = item if item
        item ? @hits += 1 : @misses += 1 if count
        item
      end

      def store(key, bytes, expires_at)
        remove(key)
        cost_bytes = key.bytesize + bytes.bytesize + ENTRY_OVERHEAD_BYTES
        return false if cost_bytes > @size_bytes / LARGEST_VALUE_SHARE
        return false unless make_room(cost_bytes)
        @items[key.b.freeze] = Item.new(binary(bytes), expires_at, @last_token += 1, cost_bytes)
        @bytes += cost_bytes
        true
      end

      def room = @size_bytes - @bytes

      def make_room(cost_bytes)
        steps = 0
        while cost_bytes > room
          return false if (steps += 1) > MAX_EVICTIONS_PER_WRITE
          remove(@items.first.first)
          @evictions += 1
        end
        true
      end

      def remove(key)
        item = @items.delete(key.b)
        @bytes -= item.cost_bytes if item
      end

      # Returns a frozen binary copy, or the String itself if it is already frozen and binary.
      def binary(bytes) = bytes.frozen? && bytes.encoding == Encoding::BINARY ? bytes : bytes.b.freeze

      def end_of(ttl) = ttl && (Clock.now + ttl)
    end
  end
end
