# frozen_string_literal: true

module Tiercel
  class Leases
    # Leases as placeholder frames under the values' own keys. Works over any {Backend} with its atomic operations.
    #
    #   acquire   {Backend#compare_exchange}: writes the placeholder if the key is absent, and returns the entry that
    #             exists then
    #   fill      {Backend#compare_and_set}: replaces the placeholder by the value
    #
    # @private
    class Placeholders < Leases
      # The result if the call was never sent: the breaker is open, or the caller has just timed out on this backend.
      NOT_SENT = Object.new.freeze
      # Seconds between two polls of a waiting caller: the first interval and the maximum.
      POLL = [0.002, 0.05].freeze
      # Seconds for which a released lease stays visible, so that all waiting callers see it.
      RELEASED_TTL = 2.0
      # Maximum number of leases whose first sight this process remembers. A forgotten lease counts as new.
      MOST_SEEN = 1_000
      private_constant :NOT_SENT, :POLL, :RELEASED_TTL, :MOST_SEEN

      def initialize(backend, guard)
        super()
        @backend = backend
        @guard = guard
        @first_seen = {}
        @lock = Mutex.new
        @releases = ReleaseQueue.new
      end

      def acquire(mine, shown: nil, &)
        taken = resolve(mine, shown || attempt(mine), &)
      ensure
        release_later(mine.unsure) unless taken
      end

      def acquire_multi(leases, shown: {})
        attempts = leases.map do |mine|
          bytes = shown[mine.key]&.bytes or next mine
          stale = yield(mine, bytes)
          mine.successor(nil, stale == :current ? bytes : stale)
        end
        found, unanswered = attempt_multi(attempts, shown.transform_values(&:token))
        taken = attempts.map do |mine|
          answer = LOST.equal?(found) ? unanswered : found.fetch(mine.key, LOST)
          resolve(mine, answer) { |bytes| yield mine, bytes }
        end
      ensure
        leases.each { |mine| release_later(mine.unsure) } unless taken
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

      # An attempt that was interrupted before it returned has queued its release.
      def release(lease, pause: nil, stale_ttl: nil)
        return if !lease.mine? || !lease.sent? || (lease.sure? && lease.token.nil?)
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
      def lapsed?(lease) = lease.lapses_at <= Clock.monotonic
      def close = @releases.close

      private

      # --- acquire ---

      # Interprets the answer to an attempt. If an expired entry or a lapsed lease is in the way, tries to replace it.
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
          answer = attempt(mine, token)
        end
        mine.unsure
      end

      def attempt(mine, token = nil)
        return NOT_SENT if @guard.timing_out?
        answer = NOT_SENT
        @guard.call(:take_lease, mine.key) do
          answer = LOST
          bytes = Placeholder.build(mine, mine.ttl)
          answer = @backend.compare_exchange(mine.key, bytes, placeholder_ttl(mine.ttl), token)
        end
        answer
      end

      # @return [Array(Hash{String => Array}, Object)] as {Backend#compare_exchange_multi}, or LOST; and the meaning of
      #   a missing key
      def attempt_multi(attempts, tokens)
        return [LOST, NOT_SENT] if @guard.timing_out?
        frames = attempts.to_h { |lease| [lease.key, Placeholder.build(lease, lease.ttl)] }
        unanswered = NOT_SENT
        found = @guard.call(:take_leases, returning: LOST, keys: frames.keys) do |keys|
          unanswered = LOST
          @backend.compare_exchange_multi(frames.slice(*keys), placeholder_ttl(attempts.first.ttl), tokens)
        end
        [found, unanswered]
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
          return @guard.too_large(lease.key, bytes) if @backend.get_with_token(lease.key) == [present, token]
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

      # The remaining TTL on the server determines when a lease lapses. If the TTL is unknown, a lease lapses once this
      # process has seen the lease for its ttl. On the same machine the wall clock counts too, so that no caller waits
      # for a holder that died long ago. The wall clock alone is not enough, because tests move it and other machines'
      # clocks differ.
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

    # A lease as a frame of type 0x20. The part LEASE contains lineage, holder and ttl; the payload is the stale value
    # or empty. The frame expires with the lease, by the holder's clock.
    #
    # @private
    module Placeholder
      include Frame::Layout

      # Bytes of holder and ttl, the end of the last part.
      AFTER_LINEAGE = 16
      private_constant :AFTER_LINEAGE

      module_function

      # @param bytes [String] the bytes read from a backend
      # @return [Boolean] whether they look like a placeholder
      def placeholder?(bytes)
        bytes.getbyte(0) == MAGIC && bytes.getbyte(TYPE_AT) == TYPE_PLACEHOLDER && bytes.bytesize >= HEADER_BYTES
      end

      # @param bytes [String] the bytes read from a backend
      # @param holder [String]
      # @return [Boolean] whether they are this holder's placeholder
      def held_by?(bytes, holder)
        placeholder?(bytes) &&
          bytes.byteslice(HEADER_BYTES + bytes.unpack1("S<", offset: PARTS_BYTES_AT) - AFTER_LINEAGE, 8) == holder
      end

      # @param lease [Lease]
      # @param ttl [Float] seconds
      # @return [String]
      def build(lease, ttl)
        parts = Frame::Parts.encode_lease(lease.lineage + lease.holder, ttl)
        parts = Frame::Parts.encode(version: lease.version) << parts if lease.version
        Frame.build(TYPE_PLACEHOLDER, lease.stale || "", expires_at: Clock.now + ttl, parts:, checksum: true)
      end

      # @param key [String]
      # @param bytes [String]
      # @param token [Object, nil] the backend's token
      # @yieldparam ttl [Float] seconds, as the holder requested
      # @yieldparam ends_at [Float] epoch seconds, by the holder's clock
      # @yieldreturn [Float] the time of {Clock.monotonic} at which the lease lapses
      # @return [Lease, nil] nil for a damaged placeholder and for any other bytes
      def parse(key, bytes, token = nil)
        return unless placeholder?(bytes)
        frame = Frame.parse(bytes)
        names, ttl = frame.parts.lease
        return unless names && ttl.finite?
        lineage, holder = names.unpack("a8a8")
        Lease.new(key, lineage, holder, version: frame.parts.version, stale: stale(frame), token:,
                                        lapses_at: (yield ttl, frame.expires_at, "#{names}#{frame.expires_at}"))
      rescue MalformedFrame
        nil
      end

      # @param bytes [String] the bytes read from a backend
      # @return [String, nil] the bytes that a plain read returns; for a placeholder its stale value or nil
      def visible(bytes)
        return bytes unless placeholder?(bytes)
        stale(Frame.parse(bytes))
      rescue MalformedFrame
        bytes
      end

      def stale(frame) = frame.payload.empty? ? nil : frame.payload.freeze
      private_class_method :stale
    end

    # Releases leases once their backend is reachable again. After a lost attempt or release the lease may stay in the
    # backend for its whole ttl, during which no caller could compute. A thread retries one lease after the other and
    # ends when the queue is empty.
    #
    # The thread bypasses the {Guard} and its breaker, because no caller waits for it.
    #
    # @private
    class ReleaseQueue
      # Seconds between two attempts.
      PAUSE = 0.1
      # Seconds after a lease's end until which the release is retried.
      LATE = 5.0
      # A lost attempt may reach the backend after the first release, so the release is repeated this many times.
      TRIES = 3
      # Maximum number of queued leases. Further ones are left to lapse.
      MAX = 1_000
      Item = Struct.new(:ends_at, :tries_left, :attempt)
      private_constant :PAUSE, :LATE, :TRIES, :MAX, :Item

      def initialize
        @lock = Mutex.new
        @items = []
        @thread = BackgroundThread.new("tiercel leases", again: -> { !empty? }) { run }
      end

      # @yieldreturn [Boolean] whether the lease existed and was released
      # @return [void]
      def push(lease, &attempt)
        @lock.synchronize do
          @items = [] unless Forks.current?(@process) # a child does not release its parent's leases
          @process = Forks.current
          return if @items.size >= MAX
          @items << Item.new(lease.lapses_at + LATE, lease.sure? ? 1 : TRIES, attempt)
        end
        @thread.start
      end

      # @return [Boolean]
      def empty? = @lock.synchronize { @items.empty? }

      # Stops retrying before the backend is closed.
      #
      # @return [void]
      def close
        @lock.synchronize { @items = [] }
        @thread.stop
      end

      private

      def run
        until empty?
          @lock.synchronize { @items.dup }.each do |item|
            item.tries_left = item.attempt.call ? 0 : item.tries_left - 1
          rescue Refused
            item.tries_left = 0 # the backend has answered
          rescue BackendError
            break @lock.synchronize { @items.rotate! } # another server may answer
          end
          @lock.synchronize { @items.reject! { |item| item.tries_left <= 0 || item.ends_at < Clock.monotonic } }
          sleep PAUSE unless empty?
        end
      end
    end
  end
end
