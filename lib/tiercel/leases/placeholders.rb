# frozen_string_literal: true

module Tiercel
  class Leases
    # Leases as placeholder frames under the values' own keys. Works over any {Backend} with its atomic operations.
    #
    #   take   {Backend#occupy}: writes the placeholder if the key is absent, and returns the entry that exists then
    #   fill   {Backend#compare_and_set}: replaces the placeholder by the value
    #
    # A Redis user without the right to run scripts cannot compare and set. The first take of a process asks the server
    # about this right. Without the right every caller acquires every lease ({UNLEASED}), and a fill is a plain write,
    # as with `lease: false`.
    #
    # @private
    class Placeholders < Leases
      # The result if the call was never sent: the breaker is open, or the caller has just timed out on this backend.
      NOT_SENT = Object.new.freeze
      # The {Lease#token} of a lease that the server cannot keep.
      UNLEASED = Object.new.freeze
      # Seconds between two polls of a waiting caller: the first interval and the maximum.
      POLL = [0.002, 0.05].freeze
      # Seconds for which a released lease stays visible, so that all waiting callers see it.
      RELEASED_TTL = 2.0
      # Maximum number of leases whose first sight this process remembers. A forgotten lease counts as new.
      MOST_SEEN = 1_000
      private_constant :NOT_SENT, :UNLEASED, :POLL, :RELEASED_TTL, :MOST_SEEN

      def initialize(backend, guard)
        super()
        @backend = backend
        @guard = guard
        @first_seen = {}
        @lock = Mutex.new
        @releases = ReleaseQueue.new
        @reported = false
      end

      def take(mine, shown: nil, &)
        compares = compares?(mine.key)
        return take_plainly(mine, compares, shown, &) unless compares
        taken = resolve(mine, shown || claim(mine), &)
      ensure
        release_later(mine.unsure) if compares && !taken
      end

      def take_multi(leases, shown: {})
        compares = compares?(leases.first.key)
        unless compares
          return leases.map { |mine| take_plainly(mine, compares, shown[mine.key]) { |bytes| yield mine, bytes } }
        end
        claims = leases.map do |mine|
          bytes = shown[mine.key]&.bytes or next mine
          stale = yield(mine, bytes)
          mine.successor(nil, stale == :current ? bytes : stale)
        end
        found, unanswered = claim_multi(claims, shown.transform_values(&:token))
        taken = claims.map do |mine|
          answer = LOST.equal?(found) ? unanswered : found.fetch(mine.key, LOST)
          resolve(mine, answer) { |bytes| yield mine, bytes }
        end
      ensure
        leases.each { |mine| release_later(mine.unsure) } if compares && !taken
      end

      # A take that was interrupted before it returned has queued its release.
      def abandon(lease) = (release(lease) if lease.token)

      def fill(lease, bytes, ttl)
        return if @guard.timing_out?
        @guard.call(:write_entry, lease.key) do
          if UNLEASED.equal?(lease.token)
            next @backend.set(lease.key, bytes, ttl) || @guard.too_large(lease.key, bytes.bytesize)
          end
          next true if lease.token && @backend.compare_and_set(lease.key, bytes, lease.token, ttl)
          fill_lineage(lease, bytes, ttl)
        end
      end

      def fill_multi(frames, ttl)
        return fill_plainly(frames, ttl) if UNLEASED.equal?(frames.each_key.first&.token)
        known = frames.select { |lease, _| lease.token }
        stored = known.empty? ? [] : @guard.call(:write_multi_entries) do
          @backend.compare_and_set_multi(known.to_h { |lease, bytes| [lease.key, [bytes, lease.token]] }, ttl)
        end
        return if stored.nil?
        rest = frames.reject { |lease, _| stored.include?(lease.key) }
        stored + rest.filter_map { |lease, bytes| lease.key if fill(lease, bytes, ttl) }
      end

      def release(lease, pause: nil, stale_ttl: nil)
        return if !lease.mine? || !lease.sent? || UNLEASED.equal?(lease.token)
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

      # If the server no longer compares and sets, its old placeholders cannot be filled, so no caller waits for them.
      def seen(key, bytes) = (parse(key, bytes) unless @backend.compares?(ask: false) == false)

      def lapsed?(lease) = lease.lapses_at <= Clock.monotonic
      def close = @releases.close

      private

      # --- take ---

      # Interprets the answer to a claim. If an expired entry or a lapsed lease is in the way, claims its place.
      #
      # @param answer [Present, Array(String, Object, Float), nil, LOST, NOT_SENT] the entry that exists
      def resolve(mine, answer)
        TRIES.times do
          return mine.unsure if LOST.equal?(answer)
          return mine.not_sent if NOT_SENT.equal?(answer)
          bytes, token, left = *answer
          return mine.stored_as(token) if bytes && Placeholder.held_by?(bytes, mine.holder)
          there = parse(mine.key, bytes, token, left) if bytes
          return there if there && !there.released? && !lapsed?(there)
          if bytes
            stale = there ? there.stale : bytes
            verdict = stale && yield(stale)
            return Present.new(bytes) if verdict == :current && there.nil?
            mine = mine.successor(there, verdict == :current ? stale : verdict)
          else
            mine = mine.successor(nil, nil)
          end
          answer = claim(mine, token)
        end
        mine.unsure
      end

      def claim(mine, token = nil)
        return NOT_SENT if @guard.timing_out?
        answer = NOT_SENT
        @guard.call(:take_lease, mine.key) do
          answer = LOST
          answer = @backend.occupy(mine.key, Placeholder.build(mine, mine.ttl), placeholder_ttl(mine.ttl), token)
        rescue PendingChange
          answer = NOT_SENT
          raise
        end
        answer
      end

      # @return [Array(Hash{String => Array}, Object)] as {Backend#occupy_multi}, or LOST; and the meaning of a
      #   missing key
      def claim_multi(claims, tokens)
        return [LOST, NOT_SENT] if @guard.timing_out?
        frames = claims.to_h { |lease| [lease.key, Placeholder.build(lease, lease.ttl)] }
        unanswered = NOT_SENT
        found = @guard.call(:take_leases, returning: LOST) do
          unanswered = LOST
          @backend.occupy_multi(frames, placeholder_ttl(claims.first.ttl), tokens)
        end
        [found, unanswered]
      end

      # --- a server that cannot compare and set ---

      # @return [Boolean, nil] nil if the server does not answer
      def compares?(key)
        compares = @backend.compares?(ask: false)
        compares = @guard.call(:take_lease, key) { @backend.compares? } if compares.nil? && !@guard.timing_out?
        report_unleased(key) if compares == false && !@reported
        compares
      end

      def take_plainly(mine, compares, shown)
        bytes = shown&.bytes
        stale = bytes && yield(bytes)
        return Present.new(bytes) if stale == :current
        mine = mine.successor(nil, stale)
        compares.nil? ? mine.not_sent : mine.with(UNLEASED)
      end

      def fill_plainly(frames, ttl)
        pairs = frames.to_h { |lease, bytes| [lease.key, bytes] }
        @guard.call(:write_multi_entries) { @backend.set_multi(pairs, ttl) ? pairs.keys : [] }
      end

      def report_unleased(key)
        @reported = true
        @guard.call(:take_lease, key) do
          raise Refused.new("this server runs no scripts for this user, so fetch works as with lease: false: every " \
                            "caller computes for itself. Allow EVAL and EVALSHA (ACL SETUSER ... +@scripting), or " \
                            "say lease: false", backend: @backend.to_s, key: key)
        end
      end

      # --- fill and release ---

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

      # @return [Boolean] whether the lease still existed
      def release_now(lease, **options)
        return true if lease.token && write_released(lease, lease.token, **options)
        present, token = @backend.get_with_token(lease.key)
        held = present && parse(lease.key, present, token)
        held && held.holder == lease.holder ? write_released(held, token, **options) : false
      end

      # Retries the release once the backend is reachable again.
      def release_later(lease, **options)
        @releases.push(lease) { release_now(lease, **options) }
      end

      def write_released(lease, token, pause: nil, stale_ttl: nil)
        ttl = pause || RELEASED_TTL
        released = Lease.new(lease.key, lease.lineage, pause ? Lease::PAUSED : Lease::RELEASED,
                             version: lease.version, stale: lease.stale)
        kept = [lease.stale && stale_ttl, pause ? placeholder_ttl(pause) : ttl].compact.max
        @backend.compare_and_set(lease.key, Placeholder.build(released, ttl), token, kept)
      end

      # --- time ---

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
          seen_for_its_ttl = first_seen_at(lease_name) + ttl
          @backend.remote? ? seen_for_its_ttl : [seen_for_its_ttl, now + ends_at - Clock.now].min
        end
      end

      # @return [Float] the time of {Clock.monotonic} at which this process first saw the lease
      def first_seen_at(lease_name)
        @lock.synchronize do
          @first_seen[lease_name] ||= begin
            @first_seen.shift if @first_seen.size >= MOST_SEEN
            Clock.monotonic
          end
        end
      end
    end
  end
end
