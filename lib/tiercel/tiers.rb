# frozen_string_literal: true

module Tiercel
  # Two backends as one: the near tier keeps copies, the last tier has every entry. The store, `fetch`, the leases and
  # the guard use this backend like any other.
  #
  # - {StackAccessor} reads the near tier, then the last tier. A value from the last tier becomes a near copy.
  # - A change goes to the last tier. Until it ends, no process of the machine makes copies of its keys ({Near#change}).
  # - The last tier alone has counters, raw bytes, leases and tokens.
  # - The guard lists the keys of changes that the last tier did not receive ({Undelivered}). While a key is in this
  #   list, the change is pending: no call of this process reads the key from the last tier.
  #
  # The near tier has its own guard, which reports its failures; the call then goes to the last tier. A call raises
  # errors of the last tier only. docs/tiers.md lists the guarantees.
  class Tiers < Backend
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
    def get(key) = @near.filled(key) { get_last(key) }
    def get_multi(keys) = @near.filled_multi(keys) { get_multi_last(keys) }

    # @private
    # @return [String, nil] the last tier's bytes; makes no copy
    def get_last(key) = unless_pending(key) { @last.get(key) }

    # @private
    # @return [Hash{String => String}] as {#get_last}
    # @raise [PendingChange] with the entries that were found, if any key is pending
    def get_multi_last(keys) = without_pending(keys) { |rest| @last.get_multi(rest) }

    def get_with_token(key) = unless_pending(key) { @last.get_with_token(key) }
    def get_multi_with_tokens(keys) = without_pending(keys) { |rest| @last.get_multi_with_tokens(rest) }
    def look(key) = unless_pending(key) { @last.look(key) }
    def scan(prefix = nil, &) = @last.scan(prefix, &)

    # --- change ---

    def set(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @last.set(key, bytes, ttl) }
    def set_multi(pairs, ttl = nil) = @near.change(pairs.keys) { @last.set_multi(pairs, ttl) }
    def add(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @last.add(key, bytes, ttl) }
    def add_or_get(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @last.add_or_get(key, bytes, ttl) }

    # A value computed before a pending change is older than the change, so it is not stored.
    def compare_and_set(key, bytes, token, ttl = nil)
      @near.change([key], bytes, ttl) { unless_pending(key) { @last.compare_and_set(key, bytes, token, ttl) } }
    end

    def compare_and_set_multi(changes, ttl = nil)
      @near.change(changes.keys) { without_pending(changes) { |rest| @last.compare_and_set_multi(rest, ttl) } }
    end

    # A placeholder changes no value, so the near copies stay, and so does a lease in the near tier's table.
    def compare_exchange(key, bytes, ttl = nil, token = nil)
      unless_pending(key) { @last.compare_exchange(key, bytes, ttl, token) }
    end

    def compare_exchange_multi(pairs, ttl = nil, tokens = {})
      without_pending(pairs) { |rest| @last.compare_exchange_multi(rest, ttl, tokens) }
    end

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
    # @see Backend#prefix=
    def prefix=(prefix)
      @near.prefix = prefix
      @last.prefix = prefix
    end

    # @private
    # @see Backend#build_accessor
    def build_accessor(guard, coder, **options) = StackAccessor.new(self, guard, coder, **options)

    # @return [Leases] leases of the last tier, or of the near tier's table while the last tier does not answer
    def build_leases(guard) = StackLeases.new(self, guard)

    # --- the rest ---

    def cleanup = @last.cleanup
    def end_leases = @last.end_leases

    # @return [Hash{Symbol => Object}] the last tier's figures; under :tiers the figures of both tiers by name
    def stats
      stats = @last.stats
      { **stats, tiers: { @near.to_s => @near.stats, @last.to_s => stats } }
    end

    # @return [Hash{Symbol => Object}] :tiers alone; the last tier's figures are nil
    def stats_while_away = { tiers: { @near.to_s => @near.stats, @last.to_s => nil } }

    def listen = @near.listen

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
    def remote? = @last.remote?
    def answers_elsewhere? = @last.answers_elsewhere?
    def checksum? = @last.checksum?
    def compress_threshold_bytes = @last.compress_threshold_bytes
    def local_cache? = false # the near tier does the same

    private

    # The caller took the stripe's epoch or began a change first. If the key enters the list later, that copy is void.
    def unless_pending(key)
      return yield unless @undelivered&.any? && @undelivered.pending([key]).any?
      raise PendingChange.new("not asked: a change of this key did not reach it yet", backend: @last.to_s, key:)
    end

    # @param all [Array<String>, Hash{String => Object}] keys, or Hash by key
    # @yieldparam rest [Array<String>, Hash{String => Object}] the argument without the pending keys
    # @raise [PendingChange] with the block's result, if any key is pending
    def without_pending(all)
      pending = @undelivered&.pending(all.is_a?(Hash) ? all.keys : all)
      return yield(all) if pending.nil? || pending.empty?
      rest = all.is_a?(Hash) ? all.except(*pending) : all - pending
      result = yield(rest) unless rest.empty?
      raise PendingChange.new("#{pending.size} of #{all.size} keys are not asked for: changes of them did not reach " \
                              "it yet", backend: @last.to_s).with_partial(result)
    end

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
        bytes = @guard.call(:read_entry, key) { @backend.get_last(key) }
        bytes && answer(bytes, LAST, event)
      end

      def get_multi_raw(keys, event = nil)
        found = @guard.call(:read_multi_entries, returning: {}) { @backend.get_multi_last(keys) }
        note_tiers(event, 0, found.size)
        found
      end

      def set(key, bytes, ttl)
        change(:write_entry, [key], key:, bytes:) { @backend.set(key, bytes, ttl) }
      end

      def set_multi(frames, ttl)
        change(:write_multi_entries, frames.keys, bytes: frames) { @backend.set_multi(frames, ttl) }
      end

      def delete(key)
        change(:delete_entry, [key], key:, failed: false) { @backend.delete(key) }
      end

      def delete_multi(keys)
        change(:delete_multi_entries, keys, failed: 0) { @backend.delete_multi(keys) }
      end

      def invalidate(keys)
        change(:invalidate_tags, keys) { @backend.delete_multi(keys) && true }
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
        found = @guard.call(:read_multi_entries, returning: {}) { @backend.get_multi(keys).tap { answered = true } }
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
        delivered = late = nil
        @guard.call(method, key, returning: failed, keys:) do
          late = :interrupted
          done = yield
          delivered = true
          done || (bytes ? too_large(key, bytes) : done)
        rescue Refused => error
          delivered ||= error.forbidden || (bytes && deleted?(keys))
          raise
        rescue Unavailable => error
          late = (:unanswered if error.counts_for_breaker?)
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

      # A failed `clear` or `delete_matched` is not repeated. The guard reports a failed call; this method reports a
      # call that the open breaker skipped.
      #
      # @param prefix [String, nil] prefix of the copies and leases that are deleted even after a failure
      def sweep(method, prefix)
        sent = delivered = false
        @guard.call(method) do
          sent = true
          yield.tap { delivered = true }
        end
      ensure
        @tier.clear(prefix) unless delivered
        report_skipped(method) unless sent
      end

      def report_skipped(method)
        @tier.guard.call(method) do
          raise Refused.new("#{method} did not reach it, and is not repeated: call it again", backend: @names[LAST])
        end
      end

      def too_large(key, bytes)
        @guard.too_large(key, key ? bytes.bytesize : bytes.each_value.sum(&:bytesize))
      end
    end

    # Leases over {Tiers}: placeholders in the last tier, for all machines. While the last tier does not answer, a lease
    # in the near segment's table lets one caller of this machine compute a value.
    #
    # The last tier may have granted the lease too, in a call whose answer was lost. If possible, a fill stores the
    # value in the last tier. It always leaves a near copy, which lives as long as any other copy.
    #
    # @private
    class StackLeases < Leases
      # A lease of the near table.
      class NearLease < Leases::Lease
        # @return [Lease] the lease that the last tier did not confirm
        attr_accessor :last
        # @return [Integer, nil] {Tiers::Near#now} before the block begins
        attr_accessor :met_at
      end

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
          copy, ttl = @near.copy(lease.key, bytes, ttl, lease.met_at)
          free = copy && @guard.call(:write_entry, lease.key) { @segment.near_epoch(lease.key, true) }
          free ? super(lease, copy, ttl) : false
        end

        def own(key, ttl, version)
          NearLease.own(key, ttl, version, @runtime).tap { |lease| lease.met_at = @near.now }
        end

        private

        # Waiting callers get the computed value even if copies are not trusted.
        def look(key) = @guard.call(:read_entry, key) { @segment.get_with_token(key, true) }

        def theirs(...)
          lease = super
          NearLease.new(lease.key, lease.lineage, lease.holder, version: lease.version, stale: lease.stale,
                        lapses_at: lease.lapses_at).tap { |met| met.met_at = @near.now }
        end
      end

      # @param guard [Guard] the last tier's guard
      def initialize(tiers, guard)
        super()
        @guard = guard
        @last = Leases::Placeholders.new(tiers, guard)
        @near = Near.new(tiers.near)
      end

      def acquire(mine, shown: nil, &)
        answered(@last.acquire(mine, shown:, &)) { @near.acquire(near_of(mine), &) }
      end

      def acquire_multi(leases, shown: {}, &)
        @last.acquire_multi(leases, shown:, &).zip(leases).map do |lease, mine|
          answered(lease) { @near.acquire(near_of(mine)) { |bytes| yield mine, bytes } }
        end
      end

      def fill(lease, bytes, ttl)
        return @last.fill(lease, bytes, ttl) unless lease.is_a?(NearLease)
        near = @near.fill(lease, bytes, ttl) # first: waiting callers get the value whatever the last tier answers
        last = @last.fill(lease.last, bytes, ttl) if lease.last&.sent? && !@guard.open?
        last.nil? ? near : last
      end

      def fill_multi(frames, ttl)
        near, last = frames.partition { |lease, _| lease.is_a?(NearLease) }
        stored = last.empty? ? [] : @last.fill_multi(last.to_h, ttl)
        stored && (stored + near.filter_map { |lease, bytes| lease.key if fill(lease, bytes, ttl) })
      end

      def release(lease, **options)
        return @last.release(lease, **options) unless lease.is_a?(NearLease)
        @near.release(lease, **options)
        @last.release(lease.last, **options) if lease.last
      end

      def wait(lease, deadline) = of(lease).wait(lease, deadline)
      def seen(key, bytes) = @last.seen(key, bytes)
      def lapsed?(lease) = of(lease).lapsed?(lease)
      def close = @last.close

      private

      def near_of(mine) = @near.own(mine.key, mine.ttl, mine.version)

      # @param last [Lease, Object] the last tier's answer
      # @yieldreturn [Lease, Present, Array, nil] the result of the near table, used if the last tier did not answer
      # @return [Object] the last tier's answer, or the near table's result
      def answered(last)
        return last unless last.is_a?(Lease) && last.mine? && !last.sure?
        near = yield
        return near.tap { near.last = last } if near.is_a?(NearLease) && near.mine? && near.sure?
        return last if near.is_a?(Lease) && near.mine? # the table does not exist either
        @last.release(last)
        near
      end

      def of(lease) = lease.is_a?(NearLease) ? @near : @last
    end
  end
end
