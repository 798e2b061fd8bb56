# frozen_string_literal: true

require_relative "../leases"

module Tiercel
  class Leases
    # For a backend without compare-and-set: every caller acquires every lease, and a fill is a plain write, as with
    # `lease: false`.
    #
    # @private
    class Unleased < Leases
      # @param backend [Backend]
      # @param guard [Guard]
      def initialize(backend, guard)
        super()
        @backend = backend
        @guard = guard
      end

      def take(key, ttl, version: nil, shown: nil, displaces: nil) # rubocop:disable Lint/UnusedMethodArgument
        bytes = shown&.bytes
        stale = bytes && yield(bytes)
        stale == :current ? Present.new(bytes) : take_absent(key, ttl, version).successor(nil, stale)
      end

      def take_absent(key, ttl, version) = Lease.own(key, ttl, version)

      def ask(key, ttl, version)
        bytes = @guard.call(:read_entry, key) { @backend.get(key) }
        bytes ? Present.new(bytes) : take_absent(key, ttl, version)
      end

      def fill(lease, bytes, ttl)
        @guard.call(:write_entry, lease.key) do
          @backend.set(lease.key, bytes, ttl) || @guard.too_large(lease.key, bytes.bytesize)
        end
      end

      def fill_multi(frames, ttl)
        pairs = frames.to_h { |lease, bytes| [lease.key, bytes] }
        @guard.call(:write_multi_entries) { @backend.set_multi(pairs, ttl) ? pairs.keys : [] }
      end

      def release(lease, pause: nil, stale_ttl: nil) = nil
    end
  end
end
