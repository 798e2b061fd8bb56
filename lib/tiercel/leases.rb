# frozen_string_literal: true

require_relative "leases/lease"

module Tiercel
  # A lease is the right to compute a missing value. This is the contract of every implementation.
  #
  # A lease is the right to compute the value of one key. A caller whose plain read has shown a miss takes it, runs its
  # block, and fills. There are two implementations:
  #
  # - {Placeholders}: over any {Backend}; the lease is a placeholder frame under the value's own key; {Fallback} where a
  #   server may refuse what they need
  # - a table in the segment for `shared:` and `memory:` (see {.for})
  #
  # == Words
  #
  # - lineage: 8 random bytes that name one chain of computations of a key. The first take of an absent key begins one;
  #   whoever takes a lapsed or released lease over goes on with it; whatever changes the key otherwise ends it.
  # - holder: 8 random bytes of one take.
  # - stale value: the frame that was under the key when the lease was taken, and that plain reads go on to see.
  # - lapsed: the holder has had its `ttl` and has not filled. The lineage outlives that by far ({OUTLIVES}, or ten
  #   times the ttl), so that a slow block can still be stored.
  #
  # == What holds
  #
  # 1. At any moment one holder has the lease of a key that has not lapsed. Ends are judged by the backend's own TTL (a
  #    server's clock), by the clock of this machine where the backend is of this machine, and always by the monotonic
  #    clock of the process that waits: a lease lapses at the latest when that process has seen it for `ttl`.
  # 2. **A fill wins against every lease of its own lineage**, whoever holds it, lapsed or not, **and loses against all
  #    else**: an absent key, a value, a counter, a lease of another lineage. So the first of several that computes a
  #    value stores it, and what was deleted, overwritten or cleared meanwhile never comes back.
  # 3. What happens to the key ends the lineage:
  #    - `delete`, `delete_multi`, `delete_matched`, `clear` and eviction remove the lease and its stale value; whoever
  #      waits goes on at once (`:gone`). `delete` answers as if nothing were there where there is no stale value.
  #    - `set`, `set_multi` and `increment` put their bytes in its place: whoever waits is given them ({Present}).
  #    - `add` (`unless_exist:`) succeeds where there is no stale value that has not ended, and puts its bytes there.
  #    - `touch` may shorten or lengthen it; it ends no lineage.
  # 4. A lease without a stale value is a miss for every read, and for `exist?`; with one, plain reads see that value.
  # 5. A take whose answer was lost (the backend failed) gives a lease that is not {Lease#sure?}: the caller computes
  #    all the same, and {#fill} finds out whether the take had reached the backend.
  # 6. No method raises a {BackendError}: they go through the {Guard}, with the outcome that is named at each method.
  # 7. Leases are good across `fork`: a child neither fills nor releases what its parent took unless it is told to, and
  #    no lock or waiter is inherited.
  #
  # @abstract
  # @private
  class Leases
    # A placeholder is kept for so many seconds after its lease has lapsed, or ten times the lease's ttl if that is
    # more.
    OUTLIVES = 60.0

    # An entry under the key of a lease that a caller wanted to take, or waited for.
    #
    # `bytes`: a frame, or what a custom coder or `raw:` wrote.
    Present = Struct.new(:bytes)

    # @param backend [Backend]
    # @param guard [Guard]
    # @return [Placeholders, Fallback]
    def self.kept_under_keys(backend, guard)
      require_relative "leases/fallback"
      (backend.compares?(ask: false) ? Placeholders : Fallback).new(backend, guard)
    end

    # Takes the lease if nobody has it: one trip; a second one where something is in its place that has to go (a value
    # that has ended, a lease that has lapsed).
    #
    # The block is asked about bytes that are under the key and are not a lease. It says `:current` if they are what the
    # caller wanted to compute; else what plain reads are to see until the fill: the bytes (or others, with a later end)
    # as stale value, or nil for nothing.
    #
    # @param key [String]
    # @param ttl [Float] seconds until others may take it over
    # @param version [String, nil] of the value that is to be computed
    # @param shown [Array(String, Object), nil] bytes, which are no lease, and token that a read has just given, or
    #   what {#take_absent} has: an implementation may begin with them, which saves a trip
    # @param displaces [String, nil] a lineage whose lease gives way although it stands: it is for another version. The
    #   new lease begins a lineage of its own, so the displaced holder stores nothing
    # @yieldparam bytes [String]
    # @yieldreturn [Symbol, String, nil]
    # @return [Lease, Present] a lease that is {Lease#mine?}, or that of somebody else who has not lapsed; or the bytes
    def take(key, ttl, version: nil, shown: nil, displaces: nil) = raise(NotImplementedError)

    # Takes the lease of a key that a read has not found, and looks no further.
    #
    # @param key [String]
    # @param ttl [Float] see {#take}
    # @param version [String, nil]
    # @return [Lease, Array, nil] a lease, one's own or somebody else's; bytes, token and more of what is in its place,
    #   which {#take} goes on with (`shown`); nil where {#take} has to begin anew
    def take_absent(key, ttl, version) = nil # rubocop:disable Lint/UnusedMethodArgument

    # @return [Boolean] whether {#ask} is one trip
    def asks_at_once? = false

    # Reads, and takes the lease where nothing is.
    #
    # @param key [String]
    # @param ttl [Float] see {#take}
    # @param version [String, nil]
    # @return [Lease, Array, nil] a lease of one's own; bytes and token of what is there; nil where {#take} has to be
    #   asked
    def ask(key, ttl, version) = raise(NotImplementedError)

    # Takes those that are free, and waits for none: one trip a step (and node).
    #
    # @param keys [Array<String>] different ones
    # @param ttl [Float] seconds
    # @param versions [Hash{String => String}] by key
    # @param shown [Hash{String => Array(String, Object)}] by key, see {#take}
    # @yieldparam key [String]
    # @yieldparam bytes [String] see {#take}
    # @return [Hash{String => Lease, Present}] as {#take} would answer, for each of the keys
    def take_multi(keys, ttl, versions: {}, shown: {}, &)
      keys.to_h do |key|
        [key, take(key, ttl, version: versions[key], shown: shown[key]) { |bytes| yield key, bytes }]
      end
    end

    # Stores what was computed: see rules 2 and 5. Wakes who waits.
    #
    # @param lease [Lease] one's own, or one that {#take} or {#seen} has shown before the computing began: whoever
    #   computes
    #   without the lease stores by the same right
    # @param bytes [String] the frame
    # @param ttl [Numeric, nil] seconds, as {Backend#set} takes them
    # @return [Boolean, nil] whether it is stored; nil where the backend failed
    def fill(lease, bytes, ttl) = raise(NotImplementedError)

    # {#fill} with a frame of a String that needs none made of it.
    #
    # @param lease [Lease]
    # @param string [String] the value
    # @param ends_at [Float, nil] epoch seconds
    # @param ttl [Numeric, nil] seconds
    # @return [Boolean, nil] whether it is stored; nil where nothing was done, and {#fill} is to be asked
    def fill_string(lease, string, ends_at, ttl) = nil # rubocop:disable Lint/UnusedMethodArgument

    # Stores several, in one trip where all lineages stand unchanged.
    #
    # @param frames [Hash{Lease => String}]
    # @param ttl [Numeric, nil] seconds, for all of them
    # @return [Array<String>, nil] the keys that are stored; nil where the backend failed
    def fill_multi(frames, ttl)
      frames.filter_map { |lease, bytes| lease.key if fill(lease, bytes, ttl) }
    end

    # Gives a lease back without a value: nothing where it is one's own no more. Who waits goes on at once
    # (`:released`), all of them.
    #
    # The stale value, if there is one, goes on to be seen by plain reads. With `pause` nobody is given the lease for so
    # many seconds (a block that raises is not to be run by everybody at once): a take then answers with the lease,
    # which is {Lease#paused?}.
    #
    # @param lease [Lease]
    # @param pause [Float, nil] seconds
    # @param stale_ttl [Float, nil] seconds for which the stale value is kept
    # @return [void]
    def release(lease, pause: nil, stale_ttl: nil) = raise(NotImplementedError)

    # Waits until somebody else's lease is no more what keeps its key. Does not hold the interpreter's lock, and lets
    # the other fibers of a scheduler go on. Callers see to it that in one process one caller waits for one key.
    #
    # Implementations of waiting: the segment's table sleeps on a futex, which a fill, a release, a delete and the death
    # of the holder wake; {Placeholders} polls, every 2 to 50 ms with jitter.
    #
    # @param lease [Lease] of somebody else
    # @param deadline [Float] of {Clock.monotonic}
    # @return [Present, Symbol] the bytes that are there now; `:released`, `:gone` (deleted, evicted, cleared),
    #   `:lapsed`
    #   (the holder, or whoever has taken over meanwhile, has had its time, or is dead) or `:deadline`; `:gone` where
    #   the backend failed
    def wait(lease, deadline) = raise(NotImplementedError)

    # The lease that a plain read has found.
    #
    # @param key [String]
    # @param bytes [String] what was read
    # @return [Lease, nil] nil for anything else, and always where leases are not kept under the keys
    def seen(key, bytes) = nil # rubocop:disable Lint/UnusedMethodArgument

    # Ends what goes on behind the callers' backs, before the backend is closed.
    #
    # @return [void]
    def close = nil

    # Whether somebody else's lease may be taken over.
    #
    # @param lease [Lease]
    # @return [Boolean]
    def lapsed?(lease) = raise(NotImplementedError)
  end
end
