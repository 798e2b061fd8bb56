# frozen_string_literal: true

require_relative "../backend"
require_relative "../errors"
require_relative "../guard"
require_relative "copy"
require_relative "coverage"
require_relative "recorded_coverage"

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
      # Without a bus: what other machines write is seen after so many seconds.
      TTL_SECONDS = 1.0
      # With one, which tells of what they write at once.
      BUS_TTL_SECONDS = 60.0

      # @return [Backends::SegmentBackend]
      attr_reader :backend
      # @return [Float] seconds that a copy is kept at most
      attr_reader :ttl
      # @return [Coverage, nil] of one that a {Bus} tells of changes
      attr_reader :coverage
      # @return [Guard] that failures of this tier are told to
      attr_accessor :guard
      # @return [Uses, nil]
      attr_writer :uses
      # @return [Bus, Watch, nil]
      attr_accessor :bus
      # @return [Settler, nil] of a tier in front of the last one
      attr_accessor :settler

      # @param backend [Backends::SegmentBackend]
      # @param ttl [Numeric, nil] seconds, > 0; nil for the usual ones
      # @param inflate_limit [Integer, nil] bytes that a value may inflate to
      # @param bus [Boolean] whether there is going to be a {Bus}: then copies are read only while it works
      def initialize(backend, ttl: nil, inflate_limit: nil, bus: false)
        @backend = backend
        @segment = backend.segment
        @given_ttl = ttl&.to_f
        @ttl = @given_ttl || (bus ? BUS_TTL_SECONDS : TTL_SECONDS)
        @coverage = Coverage.new(@segment) if bus
        @recorded = RecordedCoverage.new(@segment) unless bus || path.nil?
        @covering = bus
        @longest = [backend.compress_threshold_bytes, inflate_limit && (inflate_limit + 1)].compact.min
        @guard = Guard.new(backend)
      end

      # @param prefix [String, nil] of all keys that a {Bus} is to hear of; a copy of another key lives a second at most
      # @return [void]
      def prefix=(prefix)
        return unless @bus.is_a?(Bus)
        @bus.prefix = @prefix = prefix
      end

      # @param key [String]
      # @return [String, nil]
      def get(key) = @guard.call(:read_entry, key) { @segment.get(key) }

      # While the last tier does not answer: a copy that is not trusted any more, since nobody hears of what others
      # change; or one of what a block of this machine has made meanwhile.
      #
      # @param key [String]
      # @param seconds [Float] for which the former may be given after that
      # @return [String, nil]
      def get_late(key, seconds)
        return unless @covering
        @guard.call(:read_entry, key) do
          trusted = @coverage.trusted?(seconds)
          bytes = @segment.get_late(key)
          bytes if trusted || (bytes && computed_lately?(bytes))
        end
      end

      # A value is no older than the begin of the block that has made it. So for as long after that as copies are
      # trusted nobody reads what was changed longer ago than that, whoever has changed it.
      #
      # @param bytes [String] of a copy
      # @return [Boolean] whether a block of this machine made it while the last tier did not answer, and lately
      def computed_lately?(bytes)
        began = Copy.computed_at(bytes) if @covering
        !began.nil? && @coverage.lately?(began)
      end

      # @return [Integer, nil] nanoseconds, for {#copy}; nil where copies are read until they end
      def now = (@coverage.now if @covering)

      # @param keys [Array<String>]
      # @return [Hash{String => String}]
      def get_multi(keys) = @guard.call(:read_multi_entries, returning: nil) { @segment.get_multi(keys) } || {}

      # Fills the near tiers with the block's findings from the last tier, where that is allowed.
      #
      # @yieldreturn [String, nil]
      # @return [String, nil]
      def filled(key)
        epoch = epoch(key)
        seen = @bus&.before_fill # after it: no epoch of after a gap goes with a server of before it
        @uses&.read
        bytes = yield
        fill(key, bytes, nil, epoch) if epoch && bytes && fill?(seen)
        bytes
      end

      # The same for several.
      #
      # @yieldreturn [Hash{String => String}]
      # @return [Hash{String => String}]
      def filled_multi(keys)
        epochs = keys.to_h { |key| [key, epoch(key)] }
        seen = @bus&.before_fill
        @uses&.read
        found = yield
        return found unless fill?(seen)
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
        @bus&.before_change
        @uses&.changed(keys.size)
        begun = @guard.call(:write_entry, keys.first) { @segment.near_begin(keys) }
        seen = @bus&.before_fill
        result = settling(-> { finish(keys, begun, false) }) { yield }
        finish(keys, begun, result == true && bytes && begun && fill?(seen) && fill(keys.first, bytes, ttl, begun))
        result
      end

      # @param keys [Array<String>] whose copies go
      # @return [void]
      def forget(keys)
        @guard.call(:delete_entry, keys.first) { keys.each { |key| @segment.near_invalidate(key) } }
      end

      # @param pattern [KeyPattern] whose copies go
      # @return [void]
      def forget_matching(pattern)
        @guard.call(:delete_matched) do
          forget(@segment.scan(pattern.prefix).select { |key| pattern.match?(key) })
        end
      end

      # Around a clear behind. One that ended in doubt counts as ended: if it arrives late it takes values away, and
      # nobody was promised that they are gone.
      #
      # @param prefix [String, nil]
      # @return [void]
      def clear(prefix)
        begun = @guard.call(:clear) { @segment.near_begin(nil) }
        clear_copies(prefix)
        yield if block_given?
      ensure
        @guard.call(:clear) { @segment.near_end(nil, begun, true) } if begun
        clear_copies(prefix)
      end

      # @param key [String]
      # @param bytes [String] of the tier behind
      # @param ttl [Numeric, nil] of those
      # @param began [Integer, nil] when the block began, of what is not stored behind; see {#now}
      # @return [Array(String, Float), nil] what is kept of them, and for how long
      def copy(key, bytes, ttl, began = nil)
        ttl = Copy.ttl(bytes, longest(key, ttl)) or return
        copy = Copy.of(bytes, @longest) or return
        [began ? Copy.computed(copy, began) : copy, ttl]
      end

      # @param seconds [Float] that a copy lives at most, where the URL says nothing else, or more
      def cap=(seconds)
        @ttl = [@given_ttl || seconds, seconds].min
      end

      # From now on copies are read while they are covered.
      #
      # @return [void]
      def trust_bus
        return if @covering
        @coverage.arm
        @covering = true
        @ttl = @given_ttl || BUS_TTL_SECONDS
      end

      # The bus cannot be: from now on copies are read until they end, which is soon.
      #
      # @return [void]
      # @raise [BackendError]
      def trust_ttl
        return unless @covering
        @ttl = [@given_ttl || TTL_SECONDS, TTL_SECONDS].min
        @covering = false
        @coverage.disarm
        @recorded = RecordedCoverage.new(@segment) unless path.nil?
      end

      # @return [Boolean, nil] whether copies are read at present
      def trusted? = @guard.call(:read_entry) { @segment.near_trusted? }

      # @return [Boolean] whether there may be copies that live as long as they do with a bus
      def covered_lately?
        covered = @coverage.covered
        covered.positive? && @coverage.now - covered < (@ttl + @coverage.trust) * Coverage::NANOSECONDS
      end

      # @return [Boolean] whether this process is told of what others change behind
      def listen = @bus&.listen || false

      # @return [Hash{Symbol => Object}, nil] with :bus, what the bus and the {Coverage} say, where there is one
      def stats
        @guard.call(:stats) do
          @bus ? { **@backend.stats, bus: { **@bus.stats, **@coverage.stats } } : @backend.stats
        end
      end

      # @return [String, nil] of the segment's file
      def path = @segment.path

      def close
        @bus&.close
        @backend.close
      end
      def to_s = @backend.to_s

      private

      # @return [Integer, nil] nil where nothing is to be filled
      def epoch(key)
        @bus&.listen
        @guard.call(:read_entry, key) do
          next if @covering ? !@coverage.arm : @recorded && !@recorded.respect
          @segment.near_epoch(key)
        end
      end

      # @return [Float] seconds that a copy lives at most
      def longest(key, ttl)
        longest = ttl && ttl < @ttl ? ttl : @ttl
        @prefix && longest > TTL_SECONDS && !key.start_with?(@prefix) ? TTL_SECONDS : longest
      end

      def fill?(seen) = !@covering || @bus.nil? || @guard.call(:read_entry) { @bus.fill?(seen) }

      # @return [Boolean, nil] whether it was filled
      def fill(key, bytes, ttl, epoch)
        longest = longest(key, ttl)
        @guard.call(:write_entry, key) do
          filled = @segment.near_fill_frame(key, bytes, longest, epoch)
          next filled unless filled.nil?
          copy, ttl = copy(key, bytes, longest)
          copy && @segment.near_fill(key, copy, ttl, epoch)
        end
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
