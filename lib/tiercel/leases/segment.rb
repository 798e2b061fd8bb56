# frozen_string_literal: true

require_relative "../clock"
require_relative "../leases"

module Tiercel
  class Leases
    # Leases in a table of the segment, beside its logs, for `shared:` and `memory:`: eviction does not reach them, a
    # fill, a release and a delete wake who waits, and a holder that has died is noticed within 25 ms.
    #
    # The stale value stays where it is: it is the entry itself, which nobody removes before it is overwritten or
    # evicted. The protocol is in docs/memory-model.md, "Leases".
    #
    # Where the table has no room for a lease, its caller computes without one ({Unheld}), which stats count: the value
    # is stored unless a key of its shard was deleted while the block ran.
    #
    # @private
    class Segment < Leases
      # The answer of a guarded call where the backend failed.
      LOST = Object.new.freeze
      # Others may change an entry between each two looks at it; after so many one computes without knowing.
      TRIES = 5
      # Seconds between two looks of a fiber that must not block its thread: the first, and the longest.
      POLL = [0.002, 0.02].freeze
      # In the place of a {Lease#token}: the table was full. `seen`: what the segment said of deletes before the block;
      # `entry`: the token of what was under the key.
      Unheld = Struct.new(:seen, :entry)
      # Stands for a version that the caller does not name, because the table keeps only the hash of a version.
      OTHER_VERSION = "\0another version"
      private_constant :LOST, :TRIES, :POLL, :Unheld, :OTHER_VERSION

      # @param segment [Tiercel::Segment]
      # @param guard [Guard]
      def initialize(segment, guard)
        super()
        @segment = segment
        @guard = guard
      end

      def take(key, ttl, version: nil, shown: nil, displaces: nil) # rubocop:disable Lint/UnusedMethodArgument
        mine = own(key, ttl, version)
        token = stale = visible = nil
        TRIES.times do
          answer = claim(mine, ttl, token, visible, displaces)
          return settle(mine, answer, stale, token) unless answer == true
          bytes, token = look(key)
          next unless bytes
          stale = yield(bytes)
          return Present.new(bytes) if stale == :current
          visible = stale == bytes || stale
        end
        mine.unsure
      end

      def take_absent(key, ttl, version)
        mine = own(key, ttl, version)
        answer = begin
          @segment.lease_take_absent(key, ttl, mine.lineage, version)
        rescue BackendError => error
          failed(:take_lease, key, LOST, error)
        end
        return mine if answer == false
        settle(mine, answer, nil, nil) unless answer == true
      end

      def fill(lease, bytes, ttl)
        @guard.call(:write_entry, lease.key) do
          unheld = lease.token
          stored = if unheld then @segment.lease_fill_unheld(lease.key, unheld.seen, unheld.entry, bytes, ttl)
                   else @segment.lease_fill(lease.key, lease.lineage, bytes, ttl)
                   end
          stored.nil? ? @guard.too_large(lease.key, bytes.bytesize) : stored
        end
      end

      def fill_string(lease, string, ends_at, ttl)
        return if lease.token
        stored = begin
          @segment.lease_fill_string(lease.key, lease.lineage, string, ends_at, ttl)
        rescue BackendError => error
          return failed(:write_entry, lease.key, false, error)
        end
        return stored unless stored == :too_large
        @guard.call(:write_entry, lease.key) { @guard.too_large(lease.key, string.bytesize) } || false
      end

      # `stale_ttl` is not needed: the entry stays until its own end.
      def release(lease, pause: nil, stale_ttl: nil) # rubocop:disable Lint/UnusedMethodArgument
        return if lease.token || !lease.mine?
        @guard.call(:release_lease, lease.key) do
          @segment.lease_release(lease.key, lease.lineage, lease.holder, pause)
        end
        nil
      end

      def wait(lease, deadline)
        state = @guard.call(:wait_for_lease, lease.key, returning: :gone) do
          Fiber.current_scheduler ? poll(lease, deadline) : sleep_on(lease, deadline - Clock.monotonic)
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

      # The table keeps lineages and holders apart, so one name does for both.
      def own(key, ttl, version)
        name = Lease.new_name
        Lease.own(key, ttl, version, name, name)
      end

      def claim(mine, ttl, token, shown, displaces)
        @guard.call(:take_lease, mine.key, returning: LOST) do
          @segment.lease_take(mine.key, ttl, mine.lineage, mine.holder, mine.version, token, shown,
                              ttl + [OUTLIVES, ttl * 10].max, displaces)
        end
      end

      # Passes the segment's error to the guard.
      def failed(method, key, returning, error) = @guard.call(method, key, returning:) { raise error }

      def settle(mine, answer, stale, token)
        return mine if answer == false # as it was asked for, with nothing under the key
        return mine.unsure if LOST.equal?(answer)
        return mine.heir(nil, stale).with(Unheld.new(answer, token)) if answer.is_a?(String)
        return theirs(mine, *answer) if answer.size == 4
        lineage, has_entry, taken_over = answer
        stale = nil unless has_entry
        return mine.heir(nil, stale) if lineage == mine.lineage
        mine.heir(Lease.new(mine.key, lineage, taken_over ? lineage : Lease::RELEASED), stale)
      end

      def theirs(mine, lineage, holder, lapses_at, same_version)
        version = same_version ? mine.version : OTHER_VERSION
        version = nil if same_version.nil?
        stale, = look(mine.key)
        Lease.new(mine.key, lineage, holder, version:, stale:, lapses_at:)
      end

      # @return [Array(String, String), nil] bytes and token
      def look(key) = @guard.call(:read_entry, key) { @segment.get_with_token(key) }

      def state(lease) = @segment.lease_state(lease.key, lease.lineage, lease.holder)

      def sleep_on(lease, seconds) = @segment.lease_wait(lease.key, lease.lineage, lease.holder, seconds)

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
    end
  end
end
