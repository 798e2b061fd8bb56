# frozen_string_literal: true

require_relative "leases/lease"

module Tiercel
  # The contract of every lease implementation. A lease is the right to compute the value of one key.
  #
  # A caller whose read missed acquires the lease ({#take}), runs its block, and stores the value ({#fill}). There are
  # two implementations:
  #
  # - {Placeholders}, over any {Backend}: the lease is a placeholder frame under the value's own key. {Fallback}
  #   replaces it on a server that refuses the commands that it needs.
  # - a table in the segment, for `shared:` and `memory:` (see {.for})
  #
  # == Words
  #
  # - lineage: 8 random bytes that identify one chain of computations of a key. The first lease on an absent key
  #   begins a lineage. A caller that takes over a lapsed or released lease continues it. Every other change of the
  #   key ends it.
  # - holder: 8 random bytes that identify one {#take}.
  # - stale value: the frame under the key when the lease was acquired. Plain reads return it until the lease is
  #   filled.
  # - lapsed: the holder's `ttl` has passed without a fill. The lineage lives far longer than the lease ({OUTLIVES},
  #   or ten times the ttl), so that a slow block can still store its value.
  #
  # == Guarantees
  #
  # 1. At any moment at most one holder has an unlapsed lease on a key. The backend's TTL (a server's clock, or this
  # machine's clock for a local backend) decides when a lease lapses. The monotonic clock of a waiting process is the
  # second limit: a lease has lapsed once that process has seen it for `ttl`.
  # 2. **A fill wins against every lease of its own lineage**, whether lapsed or not, **and loses against everything
  # else**: an absent key, a value, a counter, a lease of another lineage. So the first of several computations stores
  # its value, and a value that was deleted, overwritten or cleared in between never comes back.
  # 3. Other operations on the key end the lineage:
  #    - `delete`, `delete_multi`, `delete_matched`, `clear` and eviction remove the lease and its stale value;
  #      waiting callers continue at once (`:gone`). `delete` returns false if there was no stale value.
  #    - `set`, `set_multi` and `increment` replace the lease with their bytes; waiting callers get them ({Present}).
  #    - `add` (`unless_exist:`) succeeds if there is no unexpired stale value, and replaces the lease with its bytes.
  #    - `touch` changes the lease's expiry and does not end the lineage. 4. A lease without a stale value is a miss for
  # every read and for `exist?`. With a stale value, plain reads return that value. 5. If the backend fails during a
  # take, its outcome is unknown and the lease is not {Lease#sure?}. The caller computes anyway, and {#fill} finds out
  # whether the take reached the backend. 6. No method raises a {BackendError}: all calls go through the {Guard}, and
  # each method documents its result on failure. 7. Leases survive a `fork`: a child neither fills nor releases its
  # parent's leases unless the caller requests it, and it inherits no lock and no waiting thread.
  #
  # @abstract
  # @private
  class Leases
    # Seconds for which a placeholder is kept after its lease has lapsed. If ten times the lease's ttl is longer, that
    # applies instead.
    OUTLIVES = 60.0

    # An entry found under the key of a lease.
    #
    # `bytes`: a frame, or the bytes of a custom coder or of `raw:`; `token`: of the backend, if known; `left`: seconds
    # until the backend removes the entry, if known.
    Present = Struct.new(:bytes, :token, :left)

    # @param backend [Backend]
    # @param guard [Guard]
    # @return [Placeholders, Fallback]
    def self.kept_under_keys(backend, guard)
      require_relative "leases/fallback"
      (backend.compares?(ask: false) ? Placeholders : Fallback).new(backend, guard)
    end

    # Acquires the lease if it is free. Needs one trip, and a second one if it must first replace an expired value or
    # a lapsed lease.
    #
    # If the key holds bytes that are not a lease, the block decides. It returns `:current` if they are the value that
    # the caller wanted to compute. Otherwise it returns the stale value for plain reads: the bytes (perhaps with a
    # later expiry), or nil for none.
    #
    # @param key [String]
    # @param ttl [Float] seconds until another caller may take over
    # @param version [String, nil] the version of the value to compute
    # @param shown [Present, nil] an entry (not a lease) that a read has just found, or the result of {#take_absent}; an
    #   implementation may start from it and save a trip
    # @param displaces [String, nil] the lineage of an unlapsed lease to replace, because that lease is for another
    #   version. The new lease begins a new lineage, so the displaced holder stores nothing.
    # @yieldparam bytes [String]
    # @yieldreturn [Symbol, String, nil]
    # @return [Lease, Present] a lease that is {Lease#mine?}, or the unlapsed lease of another caller; or the bytes
    def take(key, ttl, version: nil, shown: nil, displaces: nil) = raise(NotImplementedError)

    # Creates a lease for {#take_absent} without a call of the backend. The caller knows the lineage before it acquires
    # the lease, and can release the lease even if its thread is killed within {#take_absent}.
    #
    # @param key [String]
    # @param ttl [Float] see {#take}
    # @param version [String, nil]
    # @return [Lease, nil] nil if {#take_absent} creates the lease itself
    def own(key, ttl, version) = nil # rubocop:disable Lint/UnusedMethodArgument

    # Acquires the lease of a key that a read has just missed, without reading again.
    #
    # @param key [String]
    # @param ttl [Float] see {#take}
    # @param version [String, nil]
    # @param lease [Lease] from {#own}, if that returns one
    # @return [Lease, Present, nil] a lease, one's own or another caller's; or the existing entry, to pass to {#take} as
    #   `shown`; nil if {#take} must start from the beginning
    def take_absent(key, ttl, version, lease = nil) = nil # rubocop:disable Lint/UnusedMethodArgument

    # @return [Boolean] whether {#ask} needs only one trip
    def asks_at_once? = false

    # Reads the key, and acquires the lease if the key is absent.
    #
    # @param key [String]
    # @param ttl [Float] see {#take}
    # @param version [String, nil]
    # @return [Lease, Present, nil] one's own lease; or the existing entry, which may be a lease; nil if the caller must
    #   use {#take}
    def ask(key, ttl, version) = raise(NotImplementedError)

    # Acquires all leases that are free, without waiting. Each step needs one trip to each node.
    #
    # @param keys [Array<String>] distinct keys
    # @param ttl [Float] seconds
    # @param versions [Hash{String => String}] by key
    # @param shown [Hash{String => Present}] by key, see {#take}
    # @yieldparam key [String]
    # @yieldparam bytes [String] see {#take}
    # @return [Hash{String => Lease, Present}] the result of {#take} for each key
    def take_multi(keys, ttl, versions: {}, shown: {}, &)
      keys.to_h do |key|
        [key, take(key, ttl, version: versions[key], shown: shown[key]) { |bytes| yield key, bytes }]
      end
    end

    # Stores the computed value (see guarantees 2 and 5) and wakes waiting callers.
    #
    # @param lease [Lease] one's own lease, or a lease that {#take} or {#seen} returned before the computation began:
    #   a caller that computes without the lease may store as well
    # @param bytes [String] the frame
    # @param ttl [Numeric, nil] seconds, as for {Backend#set}
    # @return [Boolean, nil] whether the value was stored; nil if the backend failed
    def fill(lease, bytes, ttl) = raise(NotImplementedError)

    # As {#fill}, for a String that can be stored without building its frame in Ruby.
    #
    # @param lease [Lease]
    # @param string [String] the value
    # @param ends_at [Float, nil] epoch seconds
    # @param ttl [Numeric, nil] seconds
    # @return [Boolean, nil] whether it was stored; nil if nothing was done and the caller must use {#fill}
    def fill_string(lease, string, ends_at, ttl) = nil # rubocop:disable Lint/UnusedMethodArgument

    # Stores several values. Needs one trip if no lineage has changed.
    #
    # @param frames [Hash{Lease => String}]
    # @param ttl [Numeric, nil] seconds, for all of them
    # @return [Array<String>, nil] the keys that were stored; nil if the backend failed
    def fill_multi(frames, ttl)
      frames.filter_map { |lease, bytes| lease.key if fill(lease, bytes, ttl) }
    end

    # Releases a lease without a value. Does nothing if the lease is no longer one's own. All waiting callers continue
    # at once (`:released`).
    #
    # Plain reads still return the stale value, if there is one. With `pause`, no caller acquires the lease for that
    # many seconds, so that a failing block does not run in every process at once; {#take} then returns a lease that is
    # {Lease#paused?}.
    #
    # @param lease [Lease]
    # @param pause [Float, nil] seconds
    # @param stale_ttl [Float, nil] seconds for which the stale value is kept
    # @return [void]
    def release(lease, pause: nil, stale_ttl: nil) = raise(NotImplementedError)

    # Waits until another caller's lease no longer occupies its key. Waits without the GVL, and lets other fibers of a
    # scheduler run. At most one caller of a process may wait for the same key.
    #
    # The segment's table waits on a futex, which a fill, a release, a delete and the holder's death wake.
    # {Placeholders} polls, every 2 to 50 ms with jitter.
    #
    # @param lease [Lease] another caller's lease
    # @param deadline [Float] a time of {Clock.monotonic}
    # @return [Present, Symbol] the bytes that replaced the lease; `:released`; `:gone` (deleted, evicted, cleared, or
    #   the backend failed); `:lapsed` (the time of the holder, or of its successor, is over, or it is dead); or
    #   `:deadline`
    def wait(lease, deadline) = raise(NotImplementedError)

    # Decodes the lease that a plain read has returned.
    #
    # @param key [String]
    # @param bytes [String] the bytes that were read
    # @return [Lease, nil] nil for any other bytes, and always if leases are not kept under the keys
    def seen(key, bytes) = nil # rubocop:disable Lint/UnusedMethodArgument

    # Stops background work before the backend is closed.
    #
    # @return [void]
    def close = nil

    # Whether another caller's lease may be taken over.
    #
    # @param lease [Lease]
    # @return [Boolean]
    def lapsed?(lease) = raise(NotImplementedError)
  end
end
