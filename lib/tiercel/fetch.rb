# frozen_string_literal: true

module Tiercel
  # The misses of `fetch` and `fetch_multi`: one caller computes a missing value, for all callers of all processes.
  #
  #   value -> acquire the lease -> run the block -> store the value under the lease
  #                |
  #                +-> another caller has the lease: its stale value, or
  #                    follow the caller of this process that computes (or waits), or
  #                    wait for the other process, for all callers of this process
  #
  #   values: acquire the free leases, in slices -> run their blocks -> store their values, in as few trips as
  #           lease_ttl allows
  #           then each key of another caller, as above: so callers of [a, b] and of [b, a] never wait for each other
  #
  # Every wait is bounded: by `lease_wait`; by a second if two processes might wait for each other ({NESTED_WAIT}). A
  # caller does not wait at all for a leader that cannot continue until the caller does. After the wait, the caller runs
  # its block.
  #
  # While a block runs, the entry that it computes inherits the tags of the entries that the block reads
  # ({Fetch.inherit}).
  #
  # @private
  class Fetch
    %i[Flights Miss WriteOptions].each { |name| autoload name, "tiercel/fetch/miss" }
    autoload :Refresh, "tiercel/fetch/refresh"

    MISS = Coder::MISS
    # The longest wait, in seconds, inside a transaction, and for another process inside the block of another fetch. In
    # both cases the other caller may be waiting for this one.
    NESTED_WAIT = 1.0
    # After a block has raised and a stale value was returned, no caller runs the block again for this many seconds.
    PAUSE = 5.0
    # `fetch_multi` acquires its leases in slices, each just before its blocks run. Another caller therefore waits for
    # one slice at most. The first size, the largest size, the largest growth, and the planned duration in seconds.
    SLICE = { first: 8, most: 256, growth: 4, seconds: 0.05 }.freeze
    # `fetch_multi` stores the computed values at least this many times within a `lease_ttl`.
    STORES_PER_TTL = 3
    # After this many stored misses since an attempt last found a value, the next fetch probably misses too. This fetch
    # then acquires the lease without reading first: two trips instead of three.
    SERIES = 3
    private_constant :SERIES, :MISS, :NESTED_WAIT, :PAUSE, :SLICE, :STORES_PER_TTL

    class << self
      # Adds the tags of an entry that the running block has read, because the block's own entry depends on these tags.
      #
      # @param recorded [Hash{String => String}, nil] the generations in the entry, by key; nil if they are unknown
      # @return [void]
      def inherit(backend, recorded)
        miss = Fiber[Flights::HELD]
        miss = miss.outer while miss && !miss.reads?(backend)
        miss.inherit_tags(recorded) if miss&.inherits?
      end
    end

    attr_reader :runtime, :backend, :backends, :leases, :reader, :writer, :generations, :frozen_values

    # @param request_local [Accessor::RequestLocal, nil]
    def initialize(backend:, guard:, leases:, coder:, reader:, writer:, generations:, request_local:, frozen_values:)
      @backend = backend
      @backends = [backend, *backend.tiers]
      @guard = guard
      @leases = leases
      @reader = reader
      @writer = writer
      @generations = generations
      @request_local = request_local
      @frozen_values = frozen_values
      @plain_strings = coder.plain_frames?
      @runtime = Runtime.current
      @flights = Flights.new
      @counts_series = backend.exchanges_at_once?
      @misses_in_series = 0
      @counts = { lease_waits: 0, lease_takeovers: 0, stale_hits: 0, background_refreshes: 0 }
    end

    # @return [Hash{Symbol => Integer}] counts of this process
    def stats = { **@counts, flights: @flights.size, followers: @flights.followers }

    # Threads may overwrite each other's count, which affects only the number of trips.
    #
    # @return [Boolean] whether to call {#value} without reading first: see {SERIES}
    def expects_miss?(key)
      @misses_in_series >= SERIES && @request_local&.current&.read_entry(key).nil?
    end

    # --- one key ---

    # @param store [ActiveSupport::Cache::TiercelStore] sends the events
    # @param options [Hash] merged options
    # @param found [#bytes, nil] the unusable entry that the caller's read has found
    # @param unread [Boolean] whether the caller has not read the key, because it expects a miss
    # @yield the block of `fetch`
    # @return [Object] the value: the block's, another caller's, or a stale one
    def value(store, name, key, version, options, policy, found = nil, unread: false, &)
      miss = Miss.allocate.of_call(self, store, name, key, version, options, policy, found)
      miss.unread = true if unread
      value = resolve(miss, &)
      miss.notify_of_hit
      value
    end

    # --- several keys ---

    # @param found [Hash{String => #bytes}] the unusable entries that the caller's read has found, by key
    # @yield the block of `fetch_multi`, with a name and its write options
    # @return [Hash{Object => Object}] names and values
    def values(store, names, keys, versions, options, policy, found = {}, &block)
      options = Miss.in_one_namespace(options)
      misses = names.each_index.map do |index|
        key = keys[index]
        Miss.new(self, store, names[index], key, versions[index], options, policy, found[key])
      end
      values = {}.compare_by_identity
      each_slice(misses.uniq(&:key)) { |slice| lead_several(slice, values, &block) }
      values_by_name = misses.to_h { |miss| [miss.name, values.fetch(miss) { resolve(miss, &block) }] }
      misses.each(&:notify_of_hit)
      values_by_name
    end

    # Runs a block of `fetch`, and reports its duration to an observer that wants to know it.
    #
    # @return [Object] the block's value
    def timed(key)
      observer = @runtime.observer
      began = nanoseconds unless observer.nil? || observer.untimed?(@backend, Forks.current)
      yield
    ensure
      observer.computed(@backend, key, nanoseconds - began) if began
    end

    private

    def nanoseconds = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

    def resolve(miss, &)
      value = miss.seen ? serve_stale(miss, miss.stale_beside(miss.seen)) : MISS
      value = attempt(miss, &) while MISS.equal?(value)
      value
    ensure
      leave(miss) unless miss.left?
    end

    # Ends a caller's part: releases its lease and its flight, even if an exception interrupts it between two steps.
    def leave(miss)
      give_back(miss)
    ensure
      @flights.land(miss, :again) unless miss.landed?
    end

    # Releases the lease of a value that was not stored.
    def give_back(miss)
      lease = miss.lease or return
      miss.lease = nil
      @leases.release(lease, stale_ttl: miss.stale_ttl)
    end

    # @return [Object] the value; MISS if the entry has changed and the caller has to begin again
    def attempt(miss, &)
      answer = acquire(miss)
      return use_stored(miss, answer) unless Leases::Lease === answer
      return answer.sure? ? lead(miss, answer, &) : lead_unanswered(miss, answer, &) if answer.mine?
      stale = miss.stale_beside(answer)
      return serve_stale(miss, stale) unless MISS.equal?(stale)
      return run(miss, answer, &) if answer.paused?
      answer.version == miss.kept_version ? wait(miss, answer, &) : compute_beside(miss, answer, &)
    end

    # Acquires the lease, or returns the lease of another caller. Registers the lineage first, so that every caller of
    # this process that finds the lease also finds this miss.
    #
    # @return [Leases::Lease, Leases::Present]
    def acquire(miss)
      return miss.take_seen if miss.seen
      lease = miss.new_lease
      @flights.register(miss, lease.lineage)
      answer = @leases.acquire(lease, shown: (miss.take_shown if miss.shown)) { |bytes| miss.verdict(bytes) }
      acquired(miss, lease, answer)
    end

    def acquired(miss, lease, answer)
      if Leases::Lease === answer && answer.mine?
        miss.lease = answer
        miss.lead(answer)
        @flights.register(miss, answer.lineage) unless answer.same_lineage?(lease)
      else
        miss.lease = nil
        @flights.forget(miss)
      end
      answer
    end

    # @param present [Leases::Present] an entry that another caller has stored
    # @return [Object] its value, if the caller can use it; else MISS
    def use_stored(miss, present)
      @misses_in_series = 0
      value = miss.value_of(present.bytes)
      return value if MISS.equal?(value)
      @request_local&.replace(miss.key, present.bytes)
      @flights.land(miss, :stored, present.bytes)
      value
    end

    # --- the leader ---

    def lead(miss, lease, &)
      @request_local&.replace(miss.key, lease.stale)
      return run(miss, lease, &) unless lease.stale || lease.takeover?
      stale = refresh(miss, lease, &)
      MISS.equal?(stale) ? run(miss, lease, &) : stale
    end

    # @return [Object] the stale value, if the block will run in the background; else MISS
    def refresh(miss, lease, &)
      count(:lease_takeovers) if lease.takeover?
      return MISS unless lease.stale && miss.policy.background?
      stale = miss.stale_beside(lease)
      MISS.equal?(stale) || !refresh_in_background(miss, lease, &) ? MISS : serve_stale(miss, stale)
    end

    def refresh_in_background(miss, lease, &block)
      job = miss.in_background
      job.lease = lease
      miss.lease = nil
      enqueued = Refresh.enqueue do
        count(:background_refreshes)
        @flights.register(job, lease.lineage)
        run(job, lease, &block)
      ensure
        leave(job)
      end
      miss.lease = lease unless enqueued
      enqueued
    end

    # The backend did not answer, so the holder of the lease is unknown. Callers of this process then share a block by
    # its key. A full server refuses a lease but may have the value, which the caller may not have read yet.
    def lead_unanswered(miss, lease, &)
      if miss.unread
        @misses_in_series = 0
        miss.unread = false
        value = @reader.read(miss.key, miss.version, miss.options)
        return value unless Coder::Signal === value
      end
      other = share_by_key(miss)
      return lead(miss, lease, &) if other.equal?(miss)
      give_back(miss)
      follow(miss, other, &)
    end

    # Callers share no block while a delete or an invalidation of the key or its tags is undelivered: the block may have
    # begun before it. A disk has no undelivered deletes: a delete that it refuses leaves the old entry anyway.
    #
    # @return [Miss] the miss itself, or another one that computes the same value
    def share_by_key(miss)
      pending = @guard.undelivered&.pending([miss.key, *miss.options[:tags]&.keys])
      return miss unless pending.nil? || pending.empty?
      @flights.register(miss, [miss.key, miss.wanted].freeze, additional: true)
    end

    # Runs the block, and stores its value under the lease's lineage.
    #
    # @param lease [Leases::Lease, nil] the caller's own lease; or the lease of another caller that this caller
    #   does not wait for (slow, of another version, in a cycle); nil if the value must not be stored
    # @param led [Array<Miss>, nil] of a `fetch_multi`: the misses whose leases the call holds
    # @param batch [Hash{Miss => Object}, nil] of a `fetch_multi`: receives the value, which is stored later
    # @return [Object] the value
    def run(miss, lease, led = nil, batch = nil)
      miss.lead(lease) unless lease && lease.equal?(miss.flying) && !miss.awaits_process?
      value = @flights.within(miss, led) do
        next batch[miss] = miss.compute { |name, given| yield name, given } if batch
        made = miss.store.instrument_miss(:generate, miss, miss.options) do
          miss.compute { |name, given| yield name, given }
        end
        if store(miss, lease, made)
          miss.lease = nil
          @misses_in_series += 1 if @counts_series
        end
        made
      end
      finish(miss, value) unless batch
      value
    rescue StandardError => error
      stale = stale_after(miss, error, lease)
      return stale unless MISS.equal?(stale)
      @flights.land(miss, :error, error)
      raise
    end

    # Passes the value and its tags on: to the followers, each of which decodes its own copy, and to the enclosing
    # block.
    def finish(miss, value)
      pass_on_tags(miss) if miss.tagged?
      return unless @flights.close(miss)
      frame = @reader.copy(value)
      frame ? @flights.land(miss, :frame, frame) : @flights.land(miss, :value, value)
    end

    # The enclosing block depends on the tags of the value too.
    def pass_on_tags(miss) = Fetch.inherit(@backend, (miss.recorded unless miss.lost?))

    # If the block raised, returns a stale value within `stale_if_error` and reports the error. For {PAUSE} seconds no
    # caller then runs the block again.
    #
    # @return [Object] the value to return instead, or MISS
    def stale_after(miss, error, lease)
      return MISS unless lease&.stale
      stale = miss.stale_value_of(lease.stale, after_error: true)
      return MISS if MISS.equal?(stale) || !miss.error_covered?(lease.stale)
      @leases.release(lease, pause: PAUSE, stale_ttl: miss.stale_ttl)
      miss.lease = nil
      Reports.handled(error, key: miss.key)
      @flights.land(miss, :stored, lease.stale)
      serve_stale(miss, stale)
    end

    # @param stale [Object] an expired value that the caller receives, or MISS
    # @return [Object] the argument
    def serve_stale(miss, stale)
      return stale if MISS.equal?(stale)
      count(:stale_hits)
      miss.stale = true
      stale
    end

    # --- storing ---

    # @return [Boolean] whether the value is stored
    def store(miss, lease, value)
      own = miss.options_of_write(value) or return false
      if @plain_strings && value.instance_of?(String) && own.equal?(miss.options)
        stored = store_string(miss, lease, value, own)
        return stored unless stored.nil?
      end
      miss.store.instrument_miss(:write, miss, own) { fill(miss, lease, value, own) }
    end

    # Stores a plain String without a frame in Ruby, because a segment builds the frame itself. Not possible if a
    # subscriber or another caller needs the frame.
    #
    # @return [Boolean, nil] nil if {#fill} has to store the value
    def store_string(miss, lease, value, own)
      return if lease.nil? || miss.version || miss.tagged?
      policy = miss.policy
      return if policy.stale_seconds
      return if own[:raw] || own[:unless_exist] || own[:tags]
      return if own[:compress] && value.bytesize >= own[:compress_threshold]
      return if @request_local&.current || miss.store.tells_writes?
      if (expires_in = own[:expires_in])
        ends = @writer.end_after(@writer.jittered(expires_in.to_f, policy))
        ttl = @writer.fill_ttl(own, policy)
      end
      @leases.fill_string(lease, value, ends, ttl)
    end

    def fill(miss, lease, value, own)
      bytes = frame(miss, value, own) or return false
      stored = lease && @leases.fill(lease, bytes, @writer.fill_ttl(own, miss.policy))
      @request_local&.replace(miss.key, stored ? bytes : nil)
      stored ? true : false
    end

    # @return [String, nil] the bytes to store; nil if the entry's tags are unknown or too many
    def frame(miss, value, own)
      # If a record was touched while the block ran, its version is newer than the value, so the earlier version is
      # stored.
      kept = own[:version] == miss.options[:version]
      version = kept ? miss.version : miss.store.version_of_write(miss.name, own)
      jitter = own[:expires_in] == miss.options[:expires_in] # an expiry that the block has set gets none
      return @writer.frame(miss.key, value, version, own, miss.policy, jitter:) if own[:raw]
      inherits = !miss.inherited.nil?
      return if inherits && miss.lost?
      bytes = @writer.frame(miss.key, value, version, inherits ? own.merge(tags: nil) : own, miss.policy, jitter:)
      bytes = with_inherited_tags(miss, bytes) if inherits
      bytes && own[:unless_exist] ? @writer.exclusive(miss.key, bytes) : bytes
    end

    # @return [String, nil] nil if the frame has no room for them: the value is not stored
    def with_inherited_tags(miss, bytes)
      @writer.with_recorded_tags(miss.key, bytes, miss.recorded)
    rescue SerializationError => error
      Reports.handled(error, key: miss.key)
      nil
    end

    # --- waiting ---

    # Another caller computes the same value. One caller of this process waits for the other process, on behalf of all.
    def wait(miss, lease, &)
      other = @flights.register(miss, lease.lineage)
      return follow(miss, other, &) unless other.equal?(miss)
      miss.await_process(lease)
      count(:lease_waits)
      case outcome = @leases.wait(lease, process_deadline(miss))
      when Leases::Present then use_stored(miss, outcome)
      when :released then after_release(miss, lease, &)
      when :deadline then run(miss, lease, &)
      else again(miss)
      end
    end

    # The leader stored nothing, so all waiting callers run their blocks now. One of the callers acquires the lease.
    def after_release(miss, lease, &)
      answer = acquire(miss)
      return use_stored(miss, answer) if Leases::Present === answer
      return lead(miss, answer, &) if answer.mine?
      run(miss, answer.same_lineage?(lease) ? answer : nil, &)
    end

    # The lease is for another version or other tags: a record changed while its fragment was rendered, or a tag was
    # invalidated. One caller of this process runs the block without the lease. The value that is ready first is stored,
    # which ends the lineage.
    def compute_beside(miss, lease, &)
      before = miss.wanted
      miss.renew_tags
      return MISS unless miss.wanted == before
      other = @flights.register(miss, [lease.lineage, before].freeze)
      other.equal?(miss) ? run(miss, lease, &) : follow(miss, other, &)
    end

    # Waits for another caller of this process.
    def follow(miss, other, &)
      outcome = @flights.await(miss, other) do
        other.awaits_process? ? process_deadline(miss) : thread_deadline(miss)
      end
      case outcome
      when :cycle then run(miss, (other.flying unless Flights.held.include?(other)), &) # the outer value is stored
      when :deadline then relieve(miss, other, &)
      else share(miss, other, *outcome, &)
      end
    end

    # If the leader's block takes too long, one follower of this process runs its own block as well. After each further
    # interval one more follower does.
    def relieve(miss, other, &)
      due = @flights.relieve(miss, other, patience(miss, other.awaits_process?)) unless Flights.in_transaction?
      return run(miss, other.flying, &) unless due
      miss.thread_deadline = [thread_deadline(miss), due].max
      miss.process_deadline = [process_deadline(miss), due].max
      follow(miss, other, &)
    end

    def share(miss, other, kind, content, &)
      case kind
      when :frame, :value
        return again(miss) unless miss.accepts?(other)
        pass_on_tags(other) if other.tagged?
        kind == :frame ? @reader.value_of_copy(content) : content
      when :stored
        value = miss.value_of(content)
        value = serve_stale(miss, miss.stale_value_of(content, after_error: true)) if MISS.equal?(value)
        MISS.equal?(value) ? again(miss) : value
      when :error then raise content.dup
      else again(miss)
      end
    end

    # Tags may have been invalidated while the call waited.
    def again(miss)
      miss.renew_tags
      MISS
    end

    # A wait in a transaction is short, because the holder may wait for a row that this caller has locked. So is a wait
    # for another process inside a block: in a forked child, the block may belong to the parent, which may be waiting
    # for the child.
    def patience(miss, for_process)
      seconds = miss.policy.lease_wait
      short = Flights.in_transaction? || (for_process && @runtime.inside_block?)
      short ? [seconds, NESTED_WAIT].min : seconds
    end

    def thread_deadline(miss) = miss.thread_deadline ||= Clock.monotonic + patience(miss, false)
    def process_deadline(miss) = miss.process_deadline ||= Clock.monotonic + patience(miss, true)

    # --- several keys ---

    def each_slice(misses)
      size = SLICE[:first]
      until misses.empty?
        began = Clock.monotonic
        yield misses.shift(size)
        size = next_slice(size, Clock.monotonic - began)
      end
    end

    def next_slice(size, took)
      fitting = took.positive? ? (size * SLICE[:seconds] / took).floor : SLICE[:most]
      fitting.clamp(1, [size * SLICE[:growth], SLICE[:most]].min)
    end

    # Acquires the free leases and computes their values. Keys whose leases other callers hold come later.
    #
    # @param slice [Array<Miss>] with different keys
    # @param values [Hash{Miss => Object}] receives the values that are known afterwards
    def lead_several(slice, values, &)
      leases = slice.map { |miss| miss.new_lease.tap { |lease| @flights.register(miss, lease.lineage) } }
      led = []
      slice.zip(leases, acquire_several(slice, leases)) do |miss, lease, answer|
        value = MISS
        if !(Leases::Lease === acquired(miss, lease, answer)) then value = use_stored(miss, answer)
        elsif !answer.mine? then value = serve_stale(miss, miss.stale_beside(answer))
        elsif !answer.sure? && !share_by_key(miss).equal?(miss) then give_back(miss)
        else
          value = refresh(miss, answer, &)
          led << miss if MISS.equal?(value)
        end
        values[miss] = value unless MISS.equal?(value)
      end
      run_several(led, values, &)
      done = true
    ensure
      slice.each { |miss| leave(miss) if values.key?(miss) || !done || miss.lease }
    end

    def acquire_several(slice, leases)
      shown = slice.to_h { |miss| [miss.key, miss.take_shown] }.compact
      misses = slice.to_h { |miss| [miss.key, miss] }
      @leases.acquire_multi(leases, shown:) { |lease, bytes| misses[lease.key].verdict(bytes) }
    end

    # @param led [Array<Miss>] with leases of this call
    def run_several(led, values, &)
      batch = {}.compare_by_identity
      stored_at = Clock.monotonic
      led.each do |miss|
        values[miss] = run(miss, miss.lease, led, batch, &)
        next if Clock.monotonic - stored_at < miss.policy.lease_ttl / STORES_PER_TTL
        store_several(batch)
        stored_at = Clock.monotonic
      end
      store_several(batch)
    ensure
      batch.each { |miss, value| finish(miss, value) } # a block has raised: their values are not stored
    end

    # Stores the values that were computed since the last call, in one trip if they share a ttl.
    def store_several(batch)
      frames = batch.each_with_object({}.compare_by_identity) do |(miss, value), made|
        own = miss.options_of_write(value) or next
        bytes = frame(miss, value, own)
        made[miss] = [bytes, @writer.fill_ttl(own, miss.policy)] if bytes
      end
      stored = frames.group_by { |_, (_, ttl)| ttl }.flat_map do |ttl, group|
        @leases.fill_multi(group.to_h { |miss, (bytes, _)| [miss.lease, bytes] }, ttl) || []
      end
      batch.each do |miss, value|
        bytes, = frames[miss]
        kept = bytes && stored.include?(miss.key)
        @request_local&.replace(miss.key, kept ? bytes : nil)
        kept ? miss.lease = nil : give_back(miss)
        finish(miss, value)
      end
      batch.clear
    end

    def count(name) = @counts[name] += 1
  end
end
