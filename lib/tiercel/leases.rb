# frozen_string_literal: true

# The contract of leases. A lease is the right to compute the value of one key.
#
# A caller whose read missed acquires the lease ({#acquire}), runs its block, and stores the value ({#fill}). There are
# two implementations:
#
# - {Placeholders}, over any {Backend}: the lease is a placeholder frame under the value's own key
# - {Segment}, for `shared:` and `memory:`: a table beside the logs
#
# Over tiers, {Tiers::StackLeases} uses the first, and the second while the last tier does not answer.
#
# == Words
#
# - lineage: 8 random bytes that identify one chain of computations of a key. The first lease on an absent key
#   begins a lineage. A caller that takes over a lapsed or released lease continues it. Every other change of the
#   key ends it.
# - holder: 8 random bytes that identify one {#acquire}.
# - stale value: the frame under the key when the lease was acquired. Plain reads return it until the lease is filled,
#   unless it has expired.
# - lapsed: the holder's ttl has passed without a fill. The lineage lives far longer than the lease ({OUTLIVES},
#   or ten times the ttl), so that a slow block can still store its value.
#
# == Guarantees
#
# 1. At any moment at most one holder has an unlapsed lease on a key. The backend's TTL (a server's clock, or this
#    machine's clock for a local backend) decides when a lease lapses. The monotonic clock of a waiting process is
#    the second limit: a lease has lapsed once that process has seen it for its ttl.
# 2. **A fill wins against every lease of its own lineage**, lapsed or not. **It loses against everything else**: an
#    absent key, a value, a counter, a lease of another lineage. So the first of several computations stores its
#    value, and a value that was deleted, overwritten or cleared in between never comes back.
# 3. Other operations on the key end the lineage:
#    - `delete`, `delete_multi`, `delete_matched`, `clear` and eviction remove the lease and its stale value;
#      waiting callers continue at once (`:gone`). `delete` over a placeholder returns true even without a stale
#      value; over a segment it then returns false.
#    - `set`, `set_multi` and `increment` replace the lease with their bytes; waiting callers get them ({Present}).
#    - `add` (`unless_exist:`) succeeds if there is no unexpired stale value, and replaces the lease with its bytes.
#    - `touch` changes the lease's expiry and does not end the lineage.
# 4. A lease without a stale value is a miss for every read and for `exist?`. With a stale value that has not expired,
#    plain reads return that value.
# 5. If the backend fails during an attempt, its outcome is unknown and the lease is not {Lease#sure?}. The caller
#    computes anyway, and {#fill} finds out whether the attempt reached the backend.
# 6. No method raises a {BackendError}, and each method documents its result on failure. Calls go through the {Guard}.
#    {Segment#acquire}, {Segment#fill} and {Segment#fill_string} call the segment directly, and pass its errors to the
#    guard.
# 7. Leases survive a `fork`: a child neither fills nor releases its parent's leases, and it inherits no lock and no
#    waiting thread.
#
# @abstract
# @private
class Tiercel::Leases
  autoload :Placeholder, "tiercel/leases/placeholders"
  autoload :Placeholders, "tiercel/leases/placeholders"
  autoload :ReleaseQueue, "tiercel/leases/placeholders"
  autoload :Segment, "tiercel/leases/segment"

  # Seconds for which a placeholder is kept after its lease has lapsed. If ten times the lease's ttl is longer, that
  # applies instead.
  OUTLIVES = 60.0
  # The result of a guarded call if the backend failed.
  LOST = Object.new.freeze
  # If another caller changes the key between two steps, this caller tries again. After this many attempts the caller
  # computes without a lease.
  TRIES = 5
  private_constant :LOST, :TRIES

  # An entry found under the key of a lease.
  #
  # `bytes`: a frame, or the bytes of a custom coder or of `raw:`; `token`: of the backend, if known; `left`: seconds
  # until the backend removes the entry, if known.
  Present = Struct.new(:bytes, :token, :left)

  def initialize
    @runtime = Tiercel::Runtime.current
  end

  # Creates a lease without a call of the backend. So the caller knows the lineage before it acquires the lease, and
  # can {#release} the lease even if its thread is killed within {#acquire}.
  #
  # @param ttl [Float] seconds until another caller may take over
  # @param version [String, nil] the version of the value to compute
  # @return [Lease]
  def own(key, ttl, version) = Lease.own(key, ttl, version, @runtime)

  # Acquires the lease if it is free. Needs one trip, and a second one if it must first replace an expired value or
  # a lapsed lease.
  #
  # If the key holds bytes that are not a lease, the block decides. The block returns `:current` if the bytes are the
  # value that the caller wanted to compute. Otherwise the block returns the stale value for plain reads: the bytes
  # (perhaps with a later expiry), or nil for none.
  #
  # @param mine [Lease] from {#own}
  # @param shown [Present, nil] an entry (not a lease) that a read has just found; an implementation may start from
  #   it and save a trip
  # @yieldparam bytes [String]
  # @yieldreturn [Symbol, String, nil]
  # @return [Lease, Present] a lease that is {Lease#mine?}, or the unlapsed lease of another caller; or the bytes
  def acquire(mine, shown: nil) = raise(NotImplementedError)

  # Acquires all leases that are free, without waiting. Each step needs one trip to each node.
  #
  # @param leases [Array<Lease>] from {#own}, for distinct keys
  # @param shown [Hash{String => Present}] by key
  # @yieldparam lease [Lease]
  # @yieldparam bytes [String] see {#acquire}
  # @return [Array<Lease, Present>] the result of {#acquire} for each lease
  def acquire_multi(leases, shown: {})
    leases.map { |mine| acquire(mine, shown: shown[mine.key]) { |bytes| yield mine, bytes } }
  end

  # Stores the computed value (see guarantees 2 and 5) and wakes waiting callers.
  #
  # @param lease [Lease] the caller's own lease, or a lease that {#acquire} or {#seen} returned before the computation
  #   began; a caller that computes without the lease may store its value too
  # @param bytes [String] the frame
  # @param ttl [Numeric, nil] seconds, as for {Backend#set}
  # @return [Boolean, nil] whether the value was stored; nil if the backend failed
  def fill(lease, bytes, ttl) = raise(NotImplementedError)

  # As {#fill}, for a String that can be stored without building its frame in Ruby.
  #
  # @param ends_at [Float, nil] epoch seconds
  # @return [Boolean, nil] whether it was stored; nil if nothing was done and the caller must use {#fill}
  def fill_string(lease, string, ends_at, ttl) = nil # rubocop:disable Lint/UnusedMethodArgument

  # Stores several values. Needs one trip if no lineage has changed.
  #
  # @param frames [Hash{Lease => String}]
  # @return [Array<String>, nil] the keys that were stored; nil if the backend failed
  def fill_multi(frames, ttl)
    frames.filter_map { |lease, bytes| lease.key if fill(lease, bytes, ttl) }
  end

  # Releases a lease without a value. Does nothing if the lease is no longer one's own. All waiting callers continue
  # at once (`:released`). After an interrupted {#acquire}, the lease may not exist.
  #
  # Plain reads still return an existing stale value. With `pause`, no caller acquires the lease for that many
  # seconds, so that a failing block does not run in every process at once. {#acquire} then returns a lease that is
  # {Lease#paused?}.
  #
  # @param stale_ttl [Float, nil] seconds for which the stale value is kept
  def release(lease, pause: nil, stale_ttl: nil) = raise(NotImplementedError)

  # Waits until another caller's lease no longer holds its key. Waits without the GVL, and lets other fibers of a
  # scheduler run. At most one caller of a process may wait for the same key.
  #
  # The segment's table waits on a futex, which a fill, a release, a delete and the holder's death wake.
  # {Placeholders} polls, every 2 to 50 ms with jitter.
  #
  # @param deadline [Float] a time of {Clock.monotonic}
  # @return [Present, Symbol] the bytes that replaced the lease; `:released`; `:gone` (deleted, evicted, cleared, or
  #   the backend failed); `:lapsed` (the time of the holder, or of its successor, is over, or it is dead); or
  #   `:deadline`
  def wait(lease, deadline) = raise(NotImplementedError)

  # Decodes the lease that a plain read has returned.
  #
  # @return [Lease, nil] nil for any other bytes, and always if leases are not kept under the keys
  def seen(key, bytes) = nil # rubocop:disable Lint/UnusedMethodArgument

  # @return [Boolean] whether another caller's lease may be taken over
  def lapsed?(lease) = raise(NotImplementedError)

  # Stops background work before the backend is closed.
  def close = nil

  # The lease of one key, as its holder or another caller sees it. {Leases} explains the terms.
  #
  # @private
  class Lease
    # Size of a lineage and of a holder.
    NAME_BYTES = 8
    # Reserved holder names: released without a value; paused, so that no caller computes for a while.
    RELEASED = ("\0" * NAME_BYTES).b.freeze
    PAUSED = ("\xFF" * NAME_BYTES).b.freeze

    # A lease begins a lineage, which has the name of its first holder until another caller takes the lease over. The
    # names are seeded by the system in each process, so an application's own seed has no influence.
    #
    # @return [Lease] a lease that this process is about to acquire
    def self.own(key, ttl, version, runtime = Tiercel::Runtime.current)
      unless runtime.seeded_by == Tiercel::Forks.current
        runtime.random = Random.new
        runtime.seeded_by = Tiercel::Forks.current
      end
      # `new`, a method of C, would call `initialize` at a higher cost than Ruby does.
      allocate.owned(key, runtime.random.bytes(NAME_BYTES).freeze, version, ttl)
    end

    # lineage, holder: 8 bytes; version: of the value that is computed; stale: bytes of the stale value; token: the
    # implementation's reference to the stored lease; ttl: seconds, only of the caller's own lease
    attr_reader :key, :lineage, :holder, :version, :stale, :token, :ttl

    def initialize(key, lineage, holder, version: nil, stale: nil, token: nil, lapses_at: nil)
      @key = key
      @lineage = lineage
      @holder = holder
      @version = version
      @stale = stale
      @token = token
      @lapses_at = lapses_at
      @ttl = nil
      @mine = @takeover = false
      @sure = true
      @process = Tiercel::Forks.current
    end

    # @return [self] for a new lease that no other thread uses yet
    def owned(key, name, version, ttl)
      initialize(key, name, name, version:)
      @ttl = ttl
      @mine = true
      self
    end

    # @return [self] for a lease of this thread, which the backend has confirmed
    def stored_as(token)
      @token = token
      self
    end

    # A lease of one's own lapses its ttl after the first question: nobody asks about most of them, and reading the
    # clock for each would cost a miss.
    #
    # @return [Float] a time of {Clock.monotonic}, as far as this process knows
    def lapses_at = @lapses_at ||= Tiercel::Clock.monotonic + @ttl

    # @return [Lease] a copy whose existence in the backend is unknown
    def unsure = change { @sure = false }

    # @return [Lease] a copy that was never sent to the backend
    def not_sent = change { @sure = nil }

    # @param predecessor [Lease, nil] the replaced lease, whose lineage it continues
    # @param stale [String, nil] bytes
    # @return [Lease]
    def successor(predecessor, stale)
      change do
        @lineage = predecessor.lineage if predecessor
        @takeover = !predecessor.nil? && !predecessor.released? && !predecessor.paused?
        @stale = stale
      end
    end

    # @return [Boolean] whether this process acquired it; false in a child of that process
    def mine? = @mine && @process == Tiercel::Forks.current

    # @return [Boolean] false if it is unknown whether the attempt reached the backend
    def sure? = @sure ? true : false

    # @return [Boolean] false if the attempt was never sent
    def sent? = !@sure.nil?

    # @return [Boolean] whether it replaced the lease of a holder that did not fill in time
    def takeover? = @takeover

    # @return [Boolean] whether its holder released it without a value
    def released? = @holder == RELEASED

    # @return [Boolean] whether computing is paused for this key
    def paused? = @holder == PAUSED

    # @return [Boolean] whether both belong to the same chain of computations
    def same_lineage?(other) = @lineage == other.lineage

    private

    def change(&) = dup.tap { |copy| copy.instance_exec(&) }
  end
end
