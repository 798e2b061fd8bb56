# frozen_string_literal: true

require_relative "../leases"
require_relative "placeholder"
require_relative "release_queue"
require_relative "first_seen"

module Tiercel
  class Leases
    # Leases as placeholder frames under the values' own keys. Works over any {Backend} with its atomic operations.
    #
    #   take   {Backend#occupy}: writes the placeholder if the key is absent, and returns the entry that exists then
    #   fill   {Backend#compare_and_set}: replaces the placeholder by the value
    #
    # @private
    class Placeholders < Leases
      # The result of a guarded call if the backend failed.
      LOST = Object.new.freeze
      # The result if the call was never sent: the breaker is open, or the caller has just timed out on this backend.
      NOT_SENT = Object.new.freeze
      # Another caller may change the key between two steps. After this many attempts the caller computes without a
      # lease.
      TRIES = 5
      # Seconds between two polls of a waiting caller: the first interval and the maximum.
      POLL = [0.002, 0.05].freeze
      # Seconds for which a released lease stays visible, so that all waiting callers see it.
      RELEASED_TTL = 2.0
      private_constant :LOST, :TRIES, :POLL, :RELEASED_TTL

      def initialize(backend, guard)
        super()
        @backend = backend
        @guard = guard
        @first_seen = FirstSeen.new
        @releases = ReleaseQueue.new
      end

      def take(key, ttl, version: nil, shown: nil, displaces: nil, &)
        mine = new_lease(key, ttl, version)
        taken = resolve(mine, ttl, shown || claim(mine, ttl), displaces, &)
      ensure
        release_later(mine.unsure) unless taken
      end

      def take_absent(key, ttl, version)
        taking(new_lease(key, ttl, version), ttl) { |bytes| occupy(key, bytes, ttl) }
      end

      def asks_at_once? = @backend.occupies_at_once?

      def ask(key, ttl, version)
        taking(new_lease(key, ttl, version), ttl) do |bytes|
          sent(:read_entry, key) { @backend.get_or_occupy(key, bytes, placeholder_ttl(ttl)) }
        end
      end

      def take_multi(keys, ttl, versions: {}, shown: {})
        mine = keys.to_h do |key|
          lease = new_lease(key, ttl, versions[key])
          bytes = shown[key]&.bytes or next [key, lease]
          stale = yield(key, bytes)
          [key, lease.successor(nil, stale == :current ? bytes : stale)]
        end
        found, unanswered = claim_multi(mine, ttl, shown.transform_values(&:token))
        taken = mine.to_h do |key, lease|
          answer = LOST.equal?(found) ? unanswered : found.fetch(key, LOST)
          [key, resolve(lease, ttl, answer) { |bytes| yield key, bytes }]
        end
      ensure
        mine&.each_value { |lease| release_later(lease.unsure) } unless taken
      end

      def fill(lease, bytes, ttl)
        return if @guard.timing_out?
        @guard.call(:write_entry, lease.key) do
          next true if lease.token && @backend.compare_and_set(lease.key, bytes, lease.token, ttl)
          fill_lineage(lease, bytes, ttl)
        end
      end

      def fill_multi(frames, ttl)
        known = frames.select { |lease, _| lease.token }
        stored = known.empty? ? [] : @guard.call(:write_multi_entries) do
          @backend.compare_and_set_multi(known.to_h { |lease, bytes| [lease.key, [bytes, lease.token]] }, ttl)
        end
        return if stored.nil?
        rest = frames.reject { |lease, _| stored.include?(lease.key) }
        stored + rest.filter_map { |lease, bytes| lease.key if fill(lease, bytes, ttl) }
      end

      def release(lease, pause: nil, stale_ttl: nil)
        return unless lease.mine? && lease.sent?
        done = LOST
        return if @guard.timing_out?
        done = @guard.call(:release_lease, lease.key, returning: LOST) { release_now(lease, pause:, stale_ttl:) }
        nil
      ensure
        release_later(lease, pause:, stale_ttl:) if LOST.equal?(done) || (done == false && !lease.sure?)
      end

      def wait(lease, deadline)
        pause = POLL.first
        lineage = lease.lineage
        until lapsed?(lease)
          now = Clock.monotonic
          return :deadline if now >= deadline
          sleep([pause * rand(0.75..1.25), deadline - now].min)
          pause = [pause * 1.5, POLL.last].min
          answer = @guard.call(:wait_for_lease, lease.key) { @backend.look(lease.key) } or return :gone
          lease = parse(lease.key, *answer) or return Present.new(answer.first)
          return :gone if lease.lineage != lineage
          return :released if lease.released?
        end
        :lapsed
      end

      def seen(key, bytes) = parse(key, bytes)

      def close = @releases.close

      def lapsed?(lease) = lease.lapses_at <= Clock.monotonic

      private

      def new_lease(key, ttl, version) = Lease.own(key, ttl, version)

      # @yieldparam bytes [String] the lease's placeholder
      # @yieldreturn [Array(String, Object, Float), nil, LOST, NOT_SENT] the entry that exists afterwards
      # @return [Lease, Present, nil] as {#take_absent}
      def taking(mine, ttl)
        bytes = Placeholder.build(mine, ttl)
        answer = yield bytes
        met = if LOST.equal?(answer) then mine.unsure
              elsif NOT_SENT.equal?(answer) then mine.not_sent
              elsif answer.nil? then nil
              elsif bytes.equal?(answer[0]) || Placeholder.held_by?(answer[0], mine.holder)
                mine.stored_as(answer[1])
              else Present.new(*answer)
              end
        known = true
        met
      ensure
        release_later(mine.unsure) unless known
      end

      # @return [Array(String, Object, Float), nil, LOST, NOT_SENT] bytes, token and seconds left of the existing entry
      def claim(mine, ttl, token = nil) = occupy(mine.key, Placeholder.build(mine, ttl), ttl, token)

      def occupy(key, bytes, ttl, token = nil)
        return NOT_SENT if @guard.timing_out?
        sent(:take_lease, key) { @backend.occupy(key, bytes, placeholder_ttl(ttl), token) }
      end

      # @return [Object] the block's value, or LOST or NOT_SENT
      def sent(method, key)
        answer = NOT_SENT
        @guard.call(method, key) do
          answer = LOST
          answer = yield
        rescue PendingChange
          answer = NOT_SENT
          raise
        end
        answer
      end

      # @return [Array(Hash{String => Array}, Object)] as {Backend#occupy_multi}, or LOST; and the meaning of a
      #   missing key
      def claim_multi(mine, ttl, tokens)
        return [LOST, NOT_SENT] if @guard.timing_out?
        frames = mine.transform_values { |lease| Placeholder.build(lease, ttl) }
        unanswered = NOT_SENT
        found = @guard.call(:take_leases, returning: LOST) do
          unanswered = LOST
          @backend.occupy_multi(frames, placeholder_ttl(ttl), tokens)
        end
        [found, unanswered]
      end

      # Interprets the response to a claim. If an expired entry or a lapsed lease is in the way, claims its place.
      def resolve(mine, ttl, answer, displaces = nil)
        TRIES.times do
          return mine.unsure if LOST.equal?(answer)
          return mine.not_sent if NOT_SENT.equal?(answer)
          bytes, token, left = *answer
          return mine.with(token) if bytes && Placeholder.held_by?(bytes, mine.holder)
          there = parse(mine.key, bytes, token, left) if bytes
          return there if there && !free?(there) && there.lineage != displaces
          if bytes
            stale = there ? there.stale : bytes
            verdict = stale && yield(stale)
            return Present.new(bytes) if verdict == :current && there.nil?
            before = there unless there&.lineage == displaces
            mine = mine.successor(before, verdict == :current ? stale : verdict)
          else
            mine = mine.successor(nil, nil)
          end
          answer = claim(mine, ttl, token)
        end
        mine.unsure
      end

      # @return [Boolean] whether the lease still existed
      def release_now(lease, **options)
        return true if lease.token && write_released(lease, lease.token, **options)
        held, token = held_by(lease)
        held ? write_released(held, token, **options) : false
      end

      # Retries the release once the backend is reachable again.
      def release_later(lease, **options)
        @releases.push(lease) { release_now(lease, **options) }
      end

      # @return [Array(Lease, Object), nil] the holder's stored lease, and the backend's token
      def held_by(lease)
        present, token = @backend.get_with_token(lease.key)
        held = present && parse(lease.key, present, token)
        [held, token] if held && held.holder == lease.holder
      end

      def write_released(lease, token, pause: nil, stale_ttl: nil)
        ttl = pause || RELEASED_TTL
        released = Lease.new(lease.key, lease.lineage, pause ? Lease::PAUSED : Lease::RELEASED,
                             version: lease.version, stale: lease.stale)
        kept = [lease.stale && stale_ttl, pause ? placeholder_ttl(pause) : ttl].compact.max
        @backend.compare_and_set(lease.key, Placeholder.build(released, ttl), token, kept)
      end

      def free?(lease) = lease.released? || lapsed?(lease)

      def placeholder_ttl(ttl) = ttl + outlives(ttl)

      def outlives(ttl) = [OUTLIVES, ttl * 10].max

      # The remaining TTL on the server determines when a lease lapses. If it is unknown, a lease lapses once this
      # process has seen it for its ttl. On the same machine the wall clock counts too, so that no caller waits for a
      # holder that died long ago. The wall clock alone is not enough, because tests move it and other machines' clocks
      # differ.
      def parse(key, bytes, token = nil, left = nil)
        Placeholder.parse(key, bytes, token) do |ttl, ends_at, lease_name|
          now = Clock.monotonic
          next now + [left - outlives(ttl), ttl].min if left
          seen_for_its_ttl = @first_seen.at(lease_name) + ttl
          @backend.remote? ? seen_for_its_ttl : [seen_for_its_ttl, now + ends_at - Clock.now].min
        end
      end

      # Used if the lease has another holder, or if the response was lost: the stored lease may still belong to the
      # lineage.
      def fill_lineage(lease, bytes, ttl)
        TRIES.times do
          present, token = @backend.get_with_token(lease.key)
          there = present && parse(lease.key, present, token)
          return false unless there&.same_lineage?(lease)
          return true if @backend.compare_and_set(lease.key, bytes, token, ttl)
          return @guard.too_large(lease.key, bytes.bytesize) if @backend.get_with_token(lease.key) == [present, token]
        end
        false
      end
    end
  end
end
