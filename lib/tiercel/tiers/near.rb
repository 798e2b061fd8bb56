# frozen_string_literal: true

require_relative "../backend"
require_relative "../errors"
require_relative "../guard"
require_relative "copy"

module Tiercel
  class Tiers < Backend
    # A near tier: copies, in a {Segment}, of what the tier behind it has. None lives longer than the tier's `ttl`.
    #
    # No copy outlives a change that a process on the same segment makes behind it. The segment keeps, for each of its
    # 1,024 stripes of keys, an epoch and a count of the writers at work; see "Near fill" in docs/memory-model.md:
    #
    # - A writer begins (the stripe's epoch rises, the count too, and the copies go), changes what is behind, fills if
    #   he was alone in the stripe, and ends.
    # - A reader looks at the epoch before he reads behind, and his fill is made if it is the same afterwards. While a
    #   writer is at work he fills nothing. A writer who died is waited for 8.6 to 17.2 seconds.
    #
    # @private
    class Near
      # What other machines write is seen after so many seconds.
      TTL_SECONDS = 1.0

      # @return [Backends::SegmentBackend]
      attr_reader :backend
      # @return [Float] seconds that a copy is kept at most
      attr_reader :ttl
      # @return [Guard] that failures of this tier are told to
      attr_accessor :guard
      # @return [Uses, nil]
      attr_writer :uses

      # @param backend [Backends::SegmentBackend]
      # @param ttl [Numeric] seconds, > 0
      # @param inflate_limit [Integer, nil] bytes that a value may inflate to
      def initialize(backend, ttl: TTL_SECONDS, inflate_limit: nil)
        @backend = backend
        @segment = backend.segment
        @ttl = ttl.to_f
        @longest = [backend.compress_threshold_bytes, inflate_limit && (inflate_limit + 1)].compact.min
        @guard = Guard.new(backend)
      end

      # @param key [String]
      # @return [String, nil]
      def get(key) = @guard.call(:read_entry, key) { @segment.get(key) }

      # @param keys [Array<String>]
      # @return [Hash{String => String}]
      def get_multi(keys) = @guard.call(:read_multi_entries, returning: nil) { @segment.get_multi(keys) } || {}

      # What the block brings back from behind, and is filled on its way.
      #
      # @yieldreturn [String, nil]
      # @return [String, nil]
      def filled(key)
        epoch = epoch(key)
        @uses&.read
        bytes = yield
        fill(key, bytes, nil, epoch) if epoch && bytes
        bytes
      end

      # The same for several.
      #
      # @yieldreturn [Hash{String => String}]
      # @return [Hash{String => String}]
      def filled_multi(keys)
        epochs = keys.to_h { |key| [key, epoch(key)] }
        @uses&.read
        found = yield
        found.each { |key, bytes| fill(key, bytes, nil, epochs[key]) if epochs[key] }
        found
      end

      # Around a change behind. If that ended in doubt (no answer in time, an interrupted call) it may still be made:
      # then the writer goes on to count as one at work, until he is forgotten.
      #
      # @param keys [Array<String>] that are changed
      # @param bytes [String, nil] what becomes a copy where the block gives true
      # @param ttl [Numeric, nil] of those
      # @return [Object] what the block returned
      def change(keys, bytes = nil, ttl = nil)
        @uses&.changed(keys.size)
        begun = @guard.call(:write_entry, keys.first) { @segment.near_begin(keys) }
        result = settling(-> { finish(keys, begun, false) }) { yield }
        finish(keys, begun, result == true && bytes && begun && fill(keys.first, bytes, ttl, begun))
        result
      end

      # @param keys [Array<String>] whose copies go
      # @return [void]
      def forget(keys)
        @guard.call(:delete_entry, keys.first) { keys.each { |key| @segment.near_invalidate(key) } }
      end

      # @param prefix [String, nil] what the keys begin with
      # @yieldparam key [String]
      # @yieldreturn [Boolean] whether its copies go
      # @return [void]
      def forget_matching(prefix, &)
        @guard.call(:delete_matched) { forget(@segment.scan(prefix).select(&)) }
      end

      # Around a clear behind.
      #
      # @param prefix [String, nil]
      # @return [void]
      def clear(prefix)
        begun = @guard.call(:clear) { @segment.near_begin(nil) }
        clear_copies(prefix)
        ended = -> { begun && @guard.call(:clear) { @segment.near_end(nil, begun, true) } }
        settling(ended) { yield if block_given? }
        ended.call
        clear_copies(prefix)
      end

      # @return [Hash{Symbol => Object}, nil]
      def stats = @guard.call(:stats) { @backend.stats }

      # @return [String, nil] of the segment's file
      def path = @segment.path

      def close = @backend.close
      def to_s = @backend.to_s

      private

      def epoch(key) = @guard.call(:read_entry, key) { @segment.near_epoch(key) }

      # @return [Boolean, nil] whether it was filled
      def fill(key, bytes, ttl, epoch)
        ttl = Copy.ttl(bytes, [@ttl, ttl].compact.min) or return
        copy = Copy.of(bytes, @longest) or return
        @guard.call(:write_entry, key) { @segment.near_fill(key, copy, ttl, epoch) }
      end

      # Where near_begin failed, nobody knows what there is.
      def finish(keys, begun, filled)
        return forget(keys) unless begun
        @guard.call(:write_entry, keys.first) { @segment.near_end(keys, begun, filled) }
      end

      # An error that is an answer settles the change as a result does.
      def settling(ended)
        yield
      rescue Error => error
        ended.call unless error.is_a?(Unavailable) && error.counts_for_breaker?
        raise
      end

      def clear_copies(prefix) = @guard.call(:clear) { @backend.clear(prefix) }
    end
  end
end
