# frozen_string_literal: true

module Tiercel
  class Leases
    # Leases in a table of the segment, beside its logs, for `shared:` and `memory:`. Eviction does not affect them. A
    # fill, a release and a delete wake waiting callers, and a holder's death is noticed within 25 ms.
    #
    # The stale value is the entry itself, which stays until it is overwritten or evicted. memory-model.md,
    # "Leases", describes the protocol.
    #
    # If the table is full, the caller computes without a lease and does not store its value. The stats count it.
    #
    # @private
    class Segment < Leases
      # Seconds between two polls of a fiber that must not block its thread: the first interval and the maximum.
      POLL = [0.002, 0.02].freeze
      # Stands for an unknown version, because the table stores only the hash of a version.
      OTHER_VERSION = "\0another version"
      private_constant :POLL, :OTHER_VERSION

      # @param segment [Tiercel::Segment]
      # @param guard [Guard]
      def initialize(segment, guard)
        super()
        @segment = segment
        @guard = guard
      end

      # A read has just missed, so the first attempt expects an absent key. The attempt calls the segment directly,
      # because a segment has no breaker, and a guarded call costs as much as the attempt.
      def acquire(mine, shown: nil) # rubocop:disable Lint/UnusedMethodArgument -- the table knows the entry
        answer = begin
          @segment.lease_acquire(mine.key, mine.ttl, mine.lineage, mine.lineage, mine.version, nil, nil, nil)
        rescue BackendError => error
          failed(:take_lease, mine.key, LOST, error)
        end
        return mine if answer == :begun
        token = stale = nil
        TRIES.times do
          break unless answer == :present
          bytes, token = look(mine.key)
          stale = bytes && yield(bytes)
          return Present.new(bytes) if stale == :current
          answer = attempt(mine, token, bytes && stale == bytes ? true : stale)
        end
        resolve(mine, answer, stale)
      end

      # As {#acquire}, calls the segment directly.
      def fill(lease, bytes, ttl) = store(lease, bytes, ttl, false, nil)

      def fill_string(lease, string, ends_at, ttl) = store(lease, string, ttl, ends_at, false)

      # `stale_ttl` is not needed: the entry stays until its own expiry.
      def release(lease, pause: nil, stale_ttl: nil) # rubocop:disable Lint/UnusedMethodArgument
        return unless lease.mine?
        @guard.call(:release_lease, lease.key) do
          @segment.lease_release(lease.key, lease.lineage, lease.holder, pause)
        end
        nil
      end

      def wait(lease, deadline)
        state = @guard.call(:wait_for_lease, lease.key, returning: :gone) do
          next poll(lease, deadline) if Fiber.current_scheduler
          @segment.lease_wait(lease.key, lease.lineage, lease.holder, deadline - Clock.monotonic)
        end
        return :deadline if state == :held
        return state unless state == :gone
        bytes, = look(lease.key)
        bytes ? Present.new(bytes) : :gone
      end

      def lapsed?(lease)
        lease.lapses_at <= Clock.monotonic ||
          @guard.call(:look_at_lease, lease.key, returning: :held) { state(lease) } != :held
      end

      private

      # @param ends_at [Float, nil, false] see Segment#lease_fill
      # @param refused [Boolean, nil] the result if the segment fails or the bytes are too large
      def store(lease, bytes, ttl, ends_at, refused)
        stored = begin
          @segment.lease_fill(lease.key, lease.lineage, bytes, ttl, ends_at)
        rescue BackendError => error
          return failed(:write_entry, lease.key, refused, error)
        end
        stored == :too_large ? too_large(lease.key, bytes) || refused : stored
      end

      # @param visible [true, String, nil] what reads find until the fill: the entry, other bytes, or nothing
      def attempt(mine, token, visible)
        @guard.call(:take_lease, mine.key, returning: LOST) do
          @segment.lease_acquire(mine.key, mine.ttl, mine.lineage, mine.holder, mine.version, token, visible,
                              mine.ttl + [OUTLIVES, mine.ttl * 10].max)
        end
      end

      def resolve(mine, answer, stale)
        case answer
        in :begun then mine
        in :full then mine.successor(nil, stale).unsure
        in [:held, *lease] then theirs(mine, *lease)
        in [:acquired, lineage, has_entry, taken_over]
          stale = nil unless has_entry
          return mine.successor(nil, stale) if lineage == mine.lineage
          mine.successor(Lease.new(mine.key, lineage, taken_over ? lineage : Lease::RELEASED), stale)
        else mine.unsure # lost, or the entry changed again and again
        end
      end

      def theirs(mine, lineage, holder, lapses_at, same_version)
        version = same_version ? mine.version : OTHER_VERSION
        version = nil if same_version.nil?
        stale, = look(mine.key)
        Lease.new(mine.key, lineage, holder, version:, stale:, lapses_at:)
      end

      # @return [Array(String, String), nil] bytes and token
      def look(key) = @guard.call(:read_entry, key) { @segment.get_with_token(key) }

      def state(lease) = @segment.lease_wait(lease.key, lease.lineage, lease.holder, 0)

      def poll(lease, deadline)
        pause = POLL.first
        while (found = state(lease)) == :held
          rest = deadline - Clock.monotonic
          break unless rest.positive?
          sleep([pause, rest].min)
          pause = [pause * 1.5, POLL.last].min
        end
        found
      end

      def too_large(key, bytes) = @guard.call(:write_entry, key) { @guard.too_large(key, bytes) }

      # Passes the segment's error to the guard.
      def failed(method, key, returning, error) = @guard.call(method, key, returning:) { raise error }
    end
  end
end
