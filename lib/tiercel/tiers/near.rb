# frozen_string_literal: true

class Tiercel::Tiers < Tiercel::Backend
  # The near tier: a {Segment} with copies of entries of the last tier. No copy lives longer than the tier's `ttl`.
  #
  # No copy outlives a change by a process on the same segment. The segment keeps an epoch and a count of writers for
  # each of 1,024 stripes of keys; see "Near fill" in memory-model.md:
  #
  # - When a writer begins, the epoch and the count rise, and the copies of its keys are deleted. The writer then
  #   changes the last tier, fills its copy if it was alone in the stripe, and ends.
  # - A reader takes the epoch before it reads the last tier. The fill succeeds only if the epoch is unchanged and no
  #   writer is active. The stripe forgets a killed writer after 8.6 to 17.2 seconds.
  #
  # @private
  class Near
    # Without a bus, copies live this many seconds at most, so that readers see the changes of other machines.
    TTL_SECONDS = 1.0
    # With a bus, copies may live longer, because the bus deletes copies of changed keys.
    BUS_TTL_SECONDS = 60.0

    attr_reader :backend
    # @return [Float] seconds that a copy lives at most
    attr_reader :ttl
    attr_reader :coverage
    # @return [Guard] reports the failures of this tier
    attr_accessor :guard
    attr_accessor :bus

    # @param ttl [Numeric, nil] seconds, > 0; nil for the default
    # @param bus [Boolean] whether this tier has a {Bus} or a {Watch}; if so, copies are read only while it works
    def initialize(backend, ttl: nil, bus: false)
      @backend = backend
      @segment = backend.segment
      @given_ttl = ttl&.to_f
      @ttl = @given_ttl || (bus ? BUS_TTL_SECONDS : TTL_SECONDS)
      @coverage = Coverage.new(@segment, recorded: !bus)
      @longest = backend.compress_threshold_bytes
      @guard = Tiercel::Guard.new(backend)
    end

    # The first store determines the prefix, because a listener of this machine may already run with it. A `dup` with
    # another namespace shares this tier; copies of its keys live a second at most.
    #
    # @param prefix [String, nil] prefix of the keys for which a {Bus} receives messages
    def prefix=(prefix)
      return if defined?(@prefix) || !@bus&.messages?
      @bus.prefix = @prefix = prefix
    end

    def get(key) = @guard.call(:read_entry, key) { @segment.get(key) }

    def get_multi(keys) = @guard.call(:read_multi_entries, returning: nil) { @segment.get_multi(keys) } || {}

    # Returns a copy while the last tier does not answer: either a copy that is no longer trusted, or a value that
    # this machine computed during the outage.
    #
    # @param seconds [Float] time for which a copy may be returned after it has ceased to be trusted
    def get_late(key, seconds)
      return if @coverage.recorded?
      @guard.call(:read_entry, key) do
        trusted = @coverage.trusted?(seconds)
        bytes = @segment.get(key, true)
        bytes if trusted || (bytes && computed_lately?(bytes))
      end
    end

    # A value computed during an outage is as old as the beginning of its block. Even if another machine changes the
    # key, readers may see the value for as long as a copy stays trusted.
    #
    # @param bytes [String] the bytes of a copy
    # @return [Boolean] whether this machine has lately computed the value during an outage
    def computed_lately?(bytes)
      began = Copy.computed_at(bytes) unless @coverage.recorded?
      !began.nil? && @coverage.lately?(began)
    end

    # @return [Integer, nil] nanoseconds, for {#copy}; nil if copies are read until they expire
    def now = (@coverage.now unless @coverage.recorded?)

    # Makes a copy of the block's result if no change came in between.
    #
    # @yieldreturn [String, nil] the last tier's bytes
    def filled(key)
      epoch = epoch(key)
      seen = @bus&.before_fill # later than the epoch, which may be from before a gap
      bytes = yield
      fill(key, bytes, nil, epoch) if epoch && bytes && fill?(seen)
      bytes
    end

    # @return [Hash{String => String}] as {#filled}
    def filled_multi(keys)
      epochs = keys.to_h { |key| [key, epoch(key)] }
      seen = @bus&.before_fill
      found = yield
      return found unless fill?(seen)
      found.each { |key, bytes| fill(key, bytes, nil, epochs[key]) if epochs[key] }
      found
    end

    # Runs a change of the last tier as a writer of its keys' stripes. A change without an answer may still
    # arrive. The writer then stays in the count until the stripe forgets it.
    #
    # @param keys [Array<String>] keys that the block changes
    # @param bytes [String, nil] the new copy, if the block returns true. With messages no copy is made, because the
    #   message about this change would delete it
    # @param ttl [Numeric, nil] TTL of these bytes
    # @return [Object] the block's result
    def change(keys, bytes = nil, ttl = nil)
      begun = @guard.call(:write_entry, keys.first) do
        @bus&.before_change
        @segment.near_begin(keys)
      end
      result = yield
      bytes = nil if @bus&.messages? && !@coverage.recorded?
      finish(keys, begun, result == true && bytes && begun && fill(keys.first, bytes, ttl, begun))
      result
    rescue Tiercel::Error => error
      finish(keys, begun, false) unless error.is_a?(Tiercel::Unavailable) && error.counts_for_breaker?
      raise
    end

    # @param keys [Array<String>] keys of the copies to delete
    def forget(keys)
      @guard.call(:delete_entry, keys.first) { keys.each { |key| @segment.near_invalidate(key) } }
    end

    # @param pattern [KeyPattern] keys of the copies to delete
    def forget_matching(pattern)
      @guard.call(:delete_matched) do
        forget(@segment.scan(pattern.prefix).select { |key| pattern.match?(key) })
      end
    end

    # Deletes copies, before and after a clear of the last tier. A clear without an answer needs no further
    # protection: if it arrives late, it only removes entries.
    def clear(prefix)
      begun = @guard.call(:clear) { @segment.near_begin(nil) }
      clear_copies(prefix)
      yield if block_given?
    ensure
      @guard.call(:clear) { @segment.near_end(nil, begun, true) } if begun
      clear_copies(prefix)
    end

    # @param bytes [String] the bytes that the last tier stores
    # @param ttl [Numeric, nil] TTL of these bytes
    # @param began [Integer, nil] the time at which the block began ({#now}), if the last tier does not store the
    #   bytes
    # @return [Array(String, Float), nil] the copy and its seconds
    def copy(key, bytes, ttl, began = nil)
      return [bytes, longest(key, ttl)] if Copy.generation?(key, bytes)
      copy = Copy.of(bytes, @longest) or return
      # Nobody can compare tags while the last tier does not answer.
      return if began && Tiercel::Frame.part(copy, Tiercel::Frame::Layout::PART_TAGS)
      ttl = Copy.ttl(copy, longest(key, ttl)) or return
      [began ? Tiercel::Frame.copy(copy, { computed_at: began }) : copy, ttl]
    end

    # @param long [Boolean] whether copies live as long as with a working bus; a `ttl` in the URL may be shorter
    def long_lived=(long)
      @ttl = long ? @given_ttl || BUS_TTL_SECONDS : [@given_ttl || TTL_SECONDS, TTL_SECONDS].min
    end

    # The bus works: from now on copies are read while they are covered.
    def trust_bus
      return unless @coverage.recorded?
      @coverage.recorded = false
      self.long_lived = true
    end

    # The bus cannot work: from now on copies are read until they expire.
    #
    # @raise [BackendError] if there is no segment; nothing changes then
    def trust_ttl
      return if @coverage.recorded?
      @segment.near_clear
      self.long_lived = false
      @coverage.recorded = true
    end

    # @return [Boolean, nil] whether copies are read at present
    def trusted? = @guard.call(:read_entry) { @segment.near_trusted? }

    # @return [Boolean] whether this process receives the changes of other machines
    def listen = @bus&.listen || false

    # @return [Hash{Symbol => Object}, nil] :bus, the figures of the bus and its {Coverage}, if there is a bus
    def stats
      @guard.call(:stats) do
        @bus ? { **@backend.stats, bus: { **@bus.stats, **@coverage.stats } } : @backend.stats
      end
    end

    def close
      @bus&.close
      @backend.close
    end
    def to_s = @backend.to_s

    private

    # @return [Integer, nil] nil if no copy may be made
    def epoch(key)
      @bus&.listen
      @guard.call(:read_entry, key) do
        @coverage.arm
        @segment.near_epoch(key)
      end
    end

    # @return [Float] seconds that a copy lives at most
    def longest(key, ttl)
      longest = ttl && ttl < @ttl ? ttl : @ttl
      @prefix && longest > TTL_SECONDS && !key.start_with?(@prefix) ? TTL_SECONDS : longest
    end

    def fill?(seen) = @bus.nil? || @coverage.recorded? || @guard.call(:read_entry) { @bus.fill?(seen) }

    # @return [Boolean, nil] whether the copy was made
    def fill(key, bytes, ttl, epoch)
      longest = longest(key, ttl)
      @guard.call(:write_entry, key) do
        filled = @segment.near_fill_frame(key, bytes, longest, epoch)
        next filled unless filled.nil?
        copy, ttl = copy(key, bytes, longest)
        copy && @segment.near_fill(key, copy, ttl, epoch)
      end
    end

    # If near_begin failed, a copy of any age may exist.
    def finish(keys, begun, filled)
      return forget(keys) unless begun
      @guard.call(:write_entry, keys.first) { @segment.near_end(keys, begun, filled) }
    end

    def clear_copies(prefix) = @guard.call(:clear) { @backend.clear(prefix) }
  end

  # Turns the last tier's bytes into the bytes of a near copy. Raw bytes, counters and leases get no copy.
  #
  # A value with tags and the generations of its tags have a copy each: a generation is a key like any other. A read
  # in the near tier compares both. Without the copy of a generation, the last tier decides.
  #
  # A copy is the frame that a store over `shared:` alone would write. The copy has no checksum, since that was
  # verified, and is compressed only if the value is long. So the segment returns plain Strings without a Ruby object
  # for the frame.
  #
  # @private
  module Copy
    class << self
      include Tiercel::Frame::Layout

      # @return [Boolean] whether it is the generation of a tag
      def generation?(key, bytes)
        bytes.bytesize == GENERATION_BYTES && key.b.include?(GENERATION_KEY)
      end

      # @param bytes [String] the last tier's bytes
      # @param longest [Integer] bytes of a value that is not compressed
      # @return [String, nil] nil for a damaged frame, and for an entry without a copy
      def of(bytes, longest)
        return unless Tiercel::Frame.frame?(bytes)
        Tiercel::CodecExt.unchecked_frame(bytes) || parsed(bytes, longest)
      end

      # @param bytes [String] the result of {.of}
      # @return [Float, nil] seconds that the copy lives: it expires with the value; nil if it has expired
      def ttl(bytes, longest)
        ends_at = Tiercel::Frame.ends_at(bytes) or return longest
        left = ends_at - Tiercel::Clock.now
        [longest, left].min if left.positive? # false for a NaN in a damaged frame
      end

      # @param bytes [String, nil] bytes of a copy
      # @return [Integer, nil] the time that {Near#copy} wrote into it
      def computed_at(bytes)
        Tiercel::Frame.parse(bytes).parts.computed_at
      rescue Tiercel::MalformedFrame
        nil
      end

      private

      # The extension leaves compressed frames to Ruby.
      def parsed(bytes, longest)
        frame = Tiercel::Frame.parse(bytes)
        return if frame.placeholder?
        return bytes if frame.encrypted? # its parts and expiry are authenticated
        parts_bytes = bytes.unpack1("S<", offset: PARTS_BYTES_AT)
        plain = frame.compressor == COMPRESSOR_NONE
        payload = plain ? frame.payload : inflated(frame, longest)
        return bytes unless payload
        parts = plain ? bytes.byteslice(HEADER_BYTES, parts_bytes) : parts_of_inflated(frame.parts)
        Tiercel::Frame.build(frame.type, payload, expires_at: frame.expires_at, parts:)
      rescue Tiercel::MalformedFrame
        nil
      end

      def parts_of_inflated(parts)
        names = %i[version encoding stale created_at exclusive tags]
        Tiercel::Frame::Parts.encode(**names.to_h { |name| [name, parts.public_send(name)] })
      end

      # @return [String, nil] nil for a long value, and for an unknown compressor
      def inflated(frame, longest)
        size = frame.parts.inflated_bytes
        name = Tiercel::Compressors::NAMES[frame.compressor]
        return unless size && name && size < longest
        Tiercel::Compressors::REGISTRY.fetch(name).inflate(frame.payload, inflated_bytes: size, limit: longest)
      rescue Tiercel::MissingDependency, Tiercel::ConfigurationError
        nil
      end
    end
  end

  # The time until which a near tier has received every change of the last tier. For {#trust} seconds after that time,
  # reads use its copies. Later, every near read is a miss, and no copy is made.
  #
  # The segment records the time, so that every process benefits from the listeners of the other processes. Times are
  # nanoseconds of the machine's monotonic clock.
  #
  # A process without a working bus (`bus=false`, or a Redis user that may not track) has a *recorded* coverage. As long
  # as no process has covered the segment, such a process reads copies until they expire. Once a process has covered the
  # segment, reads use copies only while the coverage lasts. After the last process with a bus has exited, the next miss
  # deletes all copies.
  class Coverage
    # Seconds for which copies are trusted after the time until which they are covered.
    TRUST_SECONDS = 3.0
    # Nanoseconds of a second.
    NANOSECONDS = 1_000_000_000
    # If no process has covered the segment for this long, no process with a bus is left.
    LAPSE_NS = 10 * NANOSECONDS
    private_constant :LAPSE_NS

    # @return [Float] seconds
    attr_reader :trust
    attr_reader :segment

    # @param segment [Segment, Segment::Absent] the handle through which copies are read and filled
    # @param recorded [Boolean] whether other processes alone cover the segment
    def initialize(segment, recorded: false)
      @segment = segment
      @trust = TRUST_SECONDS
      @recorded = recorded
      arm if @segment.is_a?(Tiercel::Segment) # otherwise the first call reports why there is no segment
    end

    # @return [Integer] nanoseconds
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

    def trust=(seconds)
      @trust = seconds.to_f
      @segment.near_trust = @trust if @armed
    end

    # From now on the segment's reads use copies only within the trust. A caller that fills a copy arms first, since the
    # segment may not have existed before.
    #
    # @raise [BackendError] if there is no segment
    def arm
      @armed ||= @recorded ? @segment.near_trust_recorded = @trust : @segment.near_trust = @trust
      uncover if @recorded
      true
    end

    # @return [Boolean] whether other processes alone cover the segment
    def recorded? = @recorded

    # @param recorded [Boolean] whether other processes alone cover the segment from now on
    # @raise [BackendError] if there is no segment
    def recorded=(recorded)
      @recorded = recorded
      @armed = false
      arm
    end

    # A listener calls this once it has received every change between `since` and `sent`, and has deleted the
    # copies of the changed keys through this segment.
    #
    # @param since [Integer] nanoseconds: when the listener began
    # @param sent [Integer] nanoseconds: when it sent the query that the last tier has answered
    # @param server [Integer] the server's number
    # @return [Boolean, nil] true: the copies are valid; false: all copies were deleted, because the time before
    #   `since` was not covered, or another server covered it; nil: no effect, because `sent` is before `since`, or
    #   before this process opened the segment
    # @raise [BackendError] if there is no segment
    def cover(since, sent, server = 0) = arm && @segment.near_cover(since, sent, server)

    # @return [Integer] nanoseconds: every change before is known; 0 for never
    def covered = @segment.near_covered

    # @return [Boolean] whether other processes use the segment, and may have listeners
    def shared? = !@segment.path.nil? && @segment.pids.size > 1

    # @param seconds [Numeric] added to the trust
    # @return [Boolean] whether copies are read at present
    def trusted?(seconds = 0) = (covered = self.covered).positive? && lately?(covered, seconds)

    # @param seconds [Numeric] added to the trust
    # @return [Boolean] whether copies that were good at that time are still trusted
    def lately?(time, seconds = 0) = (now - time).between?(0, (trust + seconds) * NANOSECONDS)

    # @return [Hash{Symbol => Object}] :trusted; :gaps, how often all copies were deleted because no listener had
    #   covered them
    def stats = { trusted: trusted?, gaps: @segment.near_gaps }

    private

    def uncover
      covered = self.covered
      @segment.near_uncover(covered) if covered.positive? && now - covered > LAPSE_NS
    end
  end
end
