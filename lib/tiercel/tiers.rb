# frozen_string_literal: true

require "forwardable"

module Tiercel
  # Two backends as one: the near tier keeps copies, the last tier has every entry. The store, `fetch`, the leases and
  # the guard use this backend like any other.
  #
  # - {StackAccessor} reads the near tier, then the last tier. A value from the last tier becomes a near copy.
  # - A change goes to the last tier. Until the change ends, no process of the machine copies its keys ({Near#change}).
  # - The last tier alone has counters, raw bytes, leases and tokens.
  # - The guard lists the keys of changes that the last tier did not receive ({Undelivered}). While a key is in this
  #   list, the change is pending: no call of this process reads the key from the last tier. The guard checks the list
  #   before a call. The near copy and the value of a lease need a second check, after the call has taken the stripe's
  #   epoch or begun its change: if the key enters the list later than that, the copy is void.
  #
  # The near tier has its own guard, which reports its failures; the call then goes to the last tier. A call raises
  # errors of the last tier only. docs/tiers.md lists the guarantees.
  class Tiers < Backend
    extend Forwardable

    autoload :Bus, "tiercel/tiers/bus"
    autoload :Copy, "tiercel/tiers/near"
    autoload :Coverage, "tiercel/tiers/near"
    autoload :Near, "tiercel/tiers/near"
    autoload :Watch, "tiercel/tiers/watch"

    attr_reader :near
    # @return [Backend] the last tier
    attr_reader :last

    def initialize(near, last)
      super()
      @near = near
      @last = last
    end

    # --- read ---

    # These calls return the last tier's bytes; the bytes of a near copy may differ ({Copy}).
    def get(key) = @near.filled(key) { @last.get(key) unless pending?(key) }
    def get_multi(keys) = @near.filled_multi(keys) { @last.get_multi(without_pending(keys)) }
    def_delegators :@last, :get_with_token, :get_multi_with_tokens, :look, :scan

    # --- change ---

    def set(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @last.set(key, bytes, ttl) }
    def set_multi(pairs, ttl = nil) = @near.change(pairs.keys) { @last.set_multi(pairs, ttl) }
    def add(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @last.add(key, bytes, ttl) }
    def add_or_get(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @last.add_or_get(key, bytes, ttl) }

    # A value computed before a pending change is older than the change, so this method raises and does not store it.
    # Returning false with an unchanged entry would mean that the value is too large for the last tier.
    def compare_and_set(key, bytes, token, ttl = nil)
      @near.change([key], bytes, ttl) do
        raise BreakerOpen.quick("a change of this key did not reach it yet", backend: @last.to_s, key:) if pending?(key)
        @last.compare_and_set(key, bytes, token, ttl)
      end
    end

    def compare_and_set_multi(changes, ttl = nil)
      @near.change(changes.keys) { @last.compare_and_set_multi(changes.slice(*without_pending(changes.keys)), ttl) }
    end

    # A placeholder changes no value, so the near copies stay, and so does a lease in the near tier's table.
    def compare_exchange(key, bytes, ttl = nil, token = nil) = @last.compare_exchange(key, bytes, ttl, token)
    def_delegators :@last, :compare_exchange_multi

    def delete(key) = @near.change([key]) { @last.delete(key) }
    def delete_multi(keys) = @near.change(keys) { @last.delete_multi(keys) }
    def increment(key, amount = 1, ttl = nil) = @near.change([key]) { @last.increment(key, amount, ttl) }
    def touch(key, ttl) = @near.change([key]) { @last.touch(key, ttl) }

    def clear(prefix = nil)
      @near.clear(prefix) { @last.clear(prefix) }
      nil
    end

    # Repeats deletes that the last tier did not confirm ({Undelivered}). Also deletes copies that were made since.
    #
    # @return [Hash{String => BackendError}] as {Backend#delete_frames}
    def delete_frames(keys)
      failed = @last.delete_frames(keys)
      @near.forget(keys - failed.keys)
      failed
    end

    # @private
    # @see Backend#build_accessor
    def build_accessor(guard, coder, **options) = StackAccessor.new(self, guard, coder, **options)

    # @return [Leases] leases of the last tier, or of the near tier's table while the last tier does not answer
    def build_leases(guard) = StackLeases.new(self, guard)

    # --- the rest ---

    def_delegators :@last, :cleanup, :end_leases, :stats, :remote?, :answers_elsewhere?, :checksum?,
                   :compress_threshold_bytes

    def_delegators :@near, :listen, :prefix=

    def close
      @near.close
      @last.close
    end

    # @private
    # @see Backend#build_guard
    def build_guard(**options)
      @near.guard = @near.backend.build_guard(**options)
      Guard.new(self, **options).tap { |guard| @undelivered = guard.undelivered }
    end

    def tiered? = true
    def tiers = [@near.backend, @last]
    def to_s = "#{@near} > #{@last}"
    def local_cache? = false # the near tier already saves the trips

    private

    def pending?(key) = @undelivered&.any? && @undelivered.pending([key]).any?
    def without_pending(keys) = @undelivered&.any? ? keys - @undelivered.pending(keys) : keys

    # Reads and writes through {Tiers}. The accessor of the near tier ({Accessor::Native}, {Accessor::Frozen}) reads
    # near copies, so an open breaker of the last tier does not stop these reads. A change that the last tier did not
    # receive goes to the guard's list ({Undelivered}).
    #
    # @private
    class StackAccessor < Accessor
      # Marks the answer of a last tier that has no entry, in contrast to a failure.
      ABSENT = Object.new.freeze
      # Positions in {Tiers#tiers}.
      NEAR, LAST = 0, 1
      private_constant :ABSENT, :NEAR, :LAST

      # @param stale_if_error [Float, nil] seconds for which reads still use untrusted copies while the last tier does
      #   not answer
      def initialize(backend, guard, coder, frozen: false, stale_if_error: nil)
        super(backend, guard, coder, frozen:)
        @tier = backend.near
        @near = @tier.backend.build_accessor(@tier.guard, coder, frozen:)
        @stale_if_error = stale_if_error || 0
        @names = backend.tiers.map(&:to_s)
      end

      # The near tier compares the tags of its copies. {#generations} compares those of the last tier's entries.
      def compares_tags? = true

      # Deletes a copy that is not a plain value, such as a copy of another version. The last tier then answers.
      def read(key, version, event = nil)
        value = @near.read(key, version)
        return answer(value, NEAR, event) unless Coder::Signal === value
        @tier.forget([key]) unless MISS.equal?(value)
        bytes = get_past(key, event)
        bytes.nil? ? MISS : decode(key, bytes, version)
      end

      def read_multi(keys, versions, undecided, event = nil, _generations = nil)
        found = @near.read_multi(keys, versions, useless = [])
        @tier.forget(useless.each { |key| found.delete(key) }) unless useless.empty?
        near = found.size
        unless near == keys.size
          missing = keys.uniq - found.keys
          late, last = get_multi_past(missing)
          near += late.size
          wanted = versions && keys.zip(versions).to_h.values_at(*missing)
          found.merge!(decode_all(last.merge!(late).slice(*missing), missing, wanted, undecided))
        end
        note_tiers(event, near, found.size - near)
        near == keys.size ? found : found.slice(*keys)
      end

      def get(key, event = nil)
        bytes = @tier.get(key)
        return answer(bytes, NEAR, event) if bytes
        get_past(key, event)
      end

      def get_multi(keys, event = nil)
        near = @tier.get_multi(keys)
        late, last = get_multi_past(keys - near.keys)
        note_tiers(event, near.merge!(late).size, last.size)
        near.size == keys.size ? near : near.merge!(last).slice(*keys)
      end

      # Reads generations from near copies, then from the last tier. An invalidation on this machine deletes the copies
      # first. An invalidation on another machine arrives as a message, as for any key. A value written with an outdated
      # generation is a miss later.
      #
      # @yieldreturn [Boolean] whether a copy may be used
      def far_generations(keys, &usable)
        near = @tier.get_multi(keys)
        near = near.select(&usable) if usable
        near.size == keys.size ? near : near.merge(super(keys - near.keys))
      end
      alias generations far_generations

      # Raw bytes have no copies, so the last tier answers.
      def get_raw(key, event = nil)
        bytes = @guard.call(:read_entry, key) { @backend.last.get(key) }
        bytes && answer(bytes, LAST, event)
      end

      def get_multi_raw(keys, event = nil)
        found = @guard.call(:read_multi_entries, returning: {}, keys:) { |rest| @backend.last.get_multi(rest) }
        note_tiers(event, 0, found.size)
        found
      end

      def set(key, bytes, ttl) = change(:write_entry, [key], key:, bytes:) { @backend.set(key, bytes, ttl) }

      def set_multi(frames, ttl)
        change(:write_multi_entries, frames.keys, bytes: frames) { @backend.set_multi(frames, ttl) }
      end

      def delete(key) = change(:delete_entry, [key], key:, failed: false) { @backend.delete(key) }
      def delete_multi(keys) = change(:delete_multi_entries, keys, failed: 0) { @backend.delete_multi(keys) }
      def invalidate(keys) = change(:invalidate_tags, keys) { @backend.delete_multi(keys) && true }

      # @return [Hash{Symbol => Object}] the last tier's figures; under :tiers the figures of both tiers by name. While
      #   the last tier does not answer, its figures are nil
      def stats(method = :stats)
        last = super
        { **last.to_h, tiers: @names.zip([@tier.stats, last]).to_h }
      end

      def clear(prefix) = sweep(:clear, prefix) { @backend.clear(prefix) }

      def delete_matching(pattern)
        count = sweep(:delete_matched, pattern.prefix) { delete_scanned(pattern) }
        @tier.forget_matching(pattern) unless count.nil? # the last tier may have evicted an entry whose copy exists
        count
      end

      private

      # @return [Object] the value; writes the name of its tier into the event
      def answer(value, number, event)
        event[:tier] = @names[number] if event
        value
      end

      # Reads the last tier after a near miss. If the last tier does not answer, returns a copy within `stale_if_error`,
      # or a value that this machine computed during the outage.
      def get_past(key, event)
        bytes = @guard.call(:read_entry, key) { @backend.get(key) || ABSENT }
        late = @tier.get_late(key, @stale_if_error) if bytes.nil?
        return answer(late, NEAR, event) if late
        answer(bytes, LAST, event) unless bytes.nil? || ABSENT.equal?(bytes)
      end

      # @return [Array(Hash, Hash)] as {#get_past}: the copies, and the last tier's entries
      def get_multi_past(keys)
        return [{}, {}] if keys.empty?
        answered = false
        found = @guard.call(:read_multi_entries, returning: {}, keys:) do |rest|
          @backend.get_multi(rest).tap { answered = rest.equal?(keys) }
        end
        return [{}, found] if answered
        [(keys - found.keys).to_h { |key| [key, @tier.get_late(key, @stale_if_error)] }.compact, found]
      end

      # Writes into the event how many of the found keys came from each tier.
      def note_tiers(event, near, last)
        event[:tiers] = @names.zip([near, last]).to_h.reject { |_, count| count.zero? } if event
      end

      # Runs a change and records it if the last tier did not receive it. The guard repeats a lost delete once the
      # server answers. A lost write is repeated as a delete: its value may be outdated by then, or the write may still
      # arrive. A full server refuses writes and accepts deletes, so a refused write becomes a delete at once.
      #
      # Order matters: first the list records the key, then the copy is deleted. A reader that takes the stripe's epoch
      # after the deletion then finds the key in the list.
      #
      # @param key [String, nil] the key, for error reports
      # @param bytes [String, Hash{String => String}, nil] bytes of a write
      # @param failed [Object] the result if the last tier fails
      def change(method, keys, key: nil, bytes: nil, failed: nil)
        delivered = late = false
        @guard.call(method, key, returning: failed, keys:) do
          done = yield
          delivered = true
          done || (bytes ? @guard.too_large(key, bytes) : done)
        rescue Refused => error
          delivered ||= error.forbidden || (bytes && deleted?(keys))
          raise
        rescue Unavailable => error
          late = error.counts_for_breaker?
          raise
        end
      ensure
        unless delivered
          @guard.undelivered&.note(keys, late:) if bytes
          @tier.forget(keys)
        end
      end

      def deleted?(keys)
        @backend.delete_multi(keys)
        true
      rescue BackendError
        false
      end

      # A failed `clear` or `delete_matched` is not repeated.
      #
      # @param prefix [String, nil] prefix of the copies and leases that are deleted even after a failure
      def sweep(method, prefix)
        delivered = false
        @guard.call(method) { yield.tap { delivered = true } }
      ensure
        @tier.clear(prefix) unless delivered
      end
    end

    # Leases over {Tiers}: placeholders in the last tier, for all machines. While the last tier does not answer, a lease
    # in the near segment's table lets one caller of this machine compute a value.
    #
    # The last tier may have granted the lease too, in a call whose answer was lost. If possible, a fill stores the
    # value in the last tier. A fill always leaves a near copy, which lives as long as any other copy.
    #
    # @private
    class StackLeases < Leases
      # The token of a lease of the near table. met_at: {Tiers::Near#now} before the block begins; last: the caller's
      # own lease, which the last tier did not confirm
      Beside = Struct.new(:met_at, :last)
      private_constant :Beside

      # The table of the near tier.
      class Near < Leases::Segment
        def initialize(near)
          super(near.backend.segment, near.guard)
          @near = near
        end

        # An untrusted copy counts as a miss, unless this machine computed it during the outage.
        def acquire(mine, **)
          super do |bytes|
            verdict = yield bytes
            verdict unless verdict == :current && !@near.trusted? && !@near.computed_lately?(bytes)
          end
        end

        # Stores a near copy of a value that the last tier cannot store. Stores none while a writer changes the key. A
        # writer that begins after this check ends the lease.
        def fill(lease, bytes, ttl)
          copy, ttl = @near.copy(lease.key, bytes, ttl, lease.token.met_at)
          free = copy && @guard.call(:write_entry, lease.key) { @segment.near_epoch(lease.key, true) }
          free ? super(lease, copy, ttl) : false
        end

        private

        # Waiting callers get the computed value even if copies are not trusted.
        def look(key) = @guard.call(:read_entry, key) { @segment.get_with_token(key, true) }
      end

      # @param guard [Guard] the last tier's guard
      def initialize(tiers, guard)
        super()
        @last = Leases::Placeholders.new(tiers, guard)
        @tier = tiers.near
        @near = Near.new(@tier)
      end

      def acquire(mine, shown: nil, &) = beside(@last.acquire(mine, shown:, &), &)

      def acquire_multi(leases, shown: {})
        @last.acquire_multi(leases, shown:) { |mine, bytes| yield mine, bytes }.zip(leases).map do |lease, mine|
          beside(lease) { |bytes| yield mine, bytes }
        end
      end

      def fill(lease, bytes, ttl)
        return @last.fill(lease, bytes, ttl) unless near?(lease)
        near = @near.fill(lease, bytes, ttl) # first, so that waiting callers get the value in any case
        sent = lease.token.last
        last = @last.fill(sent, bytes, ttl) if sent&.sent?
        last.nil? ? near : last
      end

      def fill_multi(frames, ttl)
        near, last = frames.partition { |lease, _| near?(lease) }
        stored = last.empty? ? [] : @last.fill_multi(last.to_h, ttl)
        stored && (stored + near.filter_map { |lease, bytes| lease.key if fill(lease, bytes, ttl) })
      end

      def release(lease, **options)
        of(lease).release(lease, **options)
        @last.release(lease.token.last, **options) if near?(lease) && lease.token.last
      end

      def wait(lease, deadline) = of(lease).wait(lease, deadline)
      def seen(key, bytes) = @last.seen(key, bytes)
      def lapsed?(lease) = of(lease).lapsed?(lease)
      def close = @last.close

      private

      # @param last [Lease, Present] the last tier's answer
      # @return [Lease, Present] the last tier's answer, or the near table's if the last tier did not answer
      def beside(last, &)
        return last unless last.is_a?(Lease) && last.mine? && !last.sure?
        met_at = @tier.now
        near = @near.acquire(@near.own(last.key, last.ttl, last.version), &)
        own = near.is_a?(Lease) && near.mine?
        return last if own && !near.sure? # the near table grants no lease either
        @last.release(last) unless own
        near.is_a?(Lease) ? near.stored_as(Beside.new(met_at, (last if own))) : near
      end

      def near?(lease) = Beside === lease.token
      def of(lease) = near?(lease) ? @near : @last
    end
  end
end
