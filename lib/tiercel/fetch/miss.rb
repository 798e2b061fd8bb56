# frozen_string_literal: true

require "active_support"
require "active_support/cache"
require "digest"

class Tiercel::Fetch
  # One missed key of a `fetch` or `fetch_multi`: the caller's options, and the block that computes the value. Once
  # the block runs, or the caller waits for another process, other callers of this process follow the miss
  # ({Flights}).
  #
  # @private
  class Miss
    MISS = Tiercel::Coder::MISS
    private_constant :MISS

    # @return [Hash] the options, with the namespace that a Proc returns now. When the value is stored, the Proc may
    #   return another namespace
    def self.in_one_namespace(options)
      namespace = options[:namespace]
      namespace.respond_to?(:call) ? options.merge(namespace: namespace.call) : options
    end

    # Set once: name, key (String), version (String, nil), options (merged Hash), policy ({FetchPolicy})
    attr_reader :store, :name, :key, :version, :options, :policy
    # @return [Hash{String => String}, nil] generations by key: of the tags of the block's value, and of the tags of
    #   the entries that the block has read; nil without tags
    attr_reader :recorded
    # @return [Boolean] whether the caller receives an expired value
    attr_accessor :stale
    # @return [Boolean] whether the caller has not read the key yet
    attr_accessor :unread
    # @return [Boolean] whether the block has run
    attr_reader :computed
    # @return [Leases::Lease, nil] the lease that the caller acquires or holds, until the value is stored
    attr_accessor :lease

    # The part of a miss that other callers see; {Flights} alone changes it, under its lock.
    #
    # - following: the misses of this process for which code inside the block waits
    # - flying: the lease of the running block, or of the awaited process
    # - outcome: [kind, content]; see {Flights#land}
    # - registered: the name under which other callers find the miss
    # - relieves: the miss whose block takes too long; this miss runs its own block as well
    attr_accessor :outcome, :followers, :landed, :following, :relieves, :relief_at, :registered, :registered_key
    attr_reader :flying
    # While its block runs: the misses whose leases the same call holds, and the miss of the enclosing block
    attr_reader :others, :outer
    # Times of {Clock.monotonic} at which the caller stops waiting for a caller of this process and for another
    # process
    attr_accessor :thread_deadline, :process_deadline

    def initialize(fetch, store, name, key, version, options, policy, found)
      @fetch = fetch
      @store = store
      @name = name
      @key = key.frozen? ? key : key.dup.freeze
      @version = version
      @options = Miss.in_one_namespace(options)
      @policy = policy
      @process = Tiercel::Forks.current
      @followers = 0
      # Sets the variables that later steps set, so that all misses have one object shape from the beginning.
      @outcome = @registered = @lease = @flying = @thread = @by_hand = @others = @outer = @given = nil
      @awaits_process = @computed = false
      return unless found
      lease = fetch.leases.seen(@key, found.bytes)
      return (@seen = lease unless lease.released? || fetch.leases.lapsed?(lease)) if lease
      token = fetch.backend.token_of(found.bytes)
      @shown = Tiercel::Leases::Present.new(found.bytes, token) if token
    end

    # `new`, a method of C, would call `initialize` at a higher cost than Ruby does.
    #
    # @return [self] of a call that has just begun
    def of_call(fetch, store, name, key, version, options, policy, found)
      initialize(fetch, store, name, key, version, options, policy, found)
      self
    end

    # @return [Miss] the same miss, for a block that runs in the background with this miss's lease
    def in_background = Miss.new(@fetch, @store, @name, @key, @version, @options, @policy, nil)

    # @return [Boolean] whether the miss belongs to this process and shares its tags with the backend's entries
    def reads?(backend) = ours? && @fetch.backends.any? { |own| own.equal?(backend) }

    # @return [Leases::Lease, nil] the unlapsed lease that the caller's read has found
    attr_reader :seen
    # @return [Leases::Present, nil] the entry that the caller's read has found, for the first attempt, which then
    #   saves a trip
    attr_reader :shown

    # @return [Boolean] whether the miss has an outcome and accepts no more followers
    def landed? = @outcome && @registered.nil? && @registered_key.nil?

    # @return [Boolean] whether its caller has neither a lease nor a registration any more
    def left? = @lease.nil? && landed?

    # @return [Boolean] whether it belongs to this process, and not to its parent
    def ours? = @process == Tiercel::Forks.current

    # A child process has none of the threads that lead its parent's flights.
    #
    # @return [Boolean] whether it has not landed and belongs to this process
    def live? = @outcome.nil? && @process == Tiercel::Forks.current

    # Returns whether the leader is suspended in the caller's own thread, so that it cannot continue while the caller
    # waits. Fibers of a scheduler wait for each other as threads do.
    def stuck_behind_caller?
      @thread.equal?(Thread.current) && (@by_hand || Fiber.current_scheduler.nil?)
    end

    # This caller has the lease, or its block begins.
    def lead(lease)
      @thread = Thread.current
      @by_hand = Fiber.blocking?
      @flying = lease
      @awaits_process = false
    end

    # Its block begins.
    #
    # @param others [Array<Miss>, nil]
    # @param outer [Miss, nil]
    def enter(others, outer)
      @others = others
      @outer = outer
    end

    # The wait for another process begins.
    def await_process(lease)
      lead(lease)
      @awaits_process = true
    end

    # @return [Boolean] whether it waits for another process
    def awaits_process? = @awaits_process || false

    # --- what the caller wants ---

    # @return [Store::Tags::Named, nil] the caller's tags, with their generations from before the block
    def tags = @options[:tags]&.tap { |tags| @fetch.generations.fix(tags) }

    # @return [Object] the version and the tags; callers share a block only if these are equal
    def wanted = (tags = self.tags) ? [@version, tags.known] : @version

    # Reads the generations of the tags again, because an invalidation may have happened while the call waited.
    def renew_tags
      before = @options[:tags] or return
      @options = @options.merge(tags: before.anew)
    end

    # @return [String, nil] the description of the wanted value in a lease: the version, and a digest of the tags
    #   with their generations
    def kept_version
      version = @version && Tiercel::Frame::Version.kept(@version)
      tags = self.tags or return version
      known = tags.known or return version # the backend failed; nothing will be stored
      digest = Digest::SHA256.hexdigest(known.sort.flatten.pack("a*x" * known.size * 2))
      Tiercel::Frame::Version.kept("tags:#{digest}:#{version}")
    end

    # Each method returns its object once, for the first attempt. A later attempt has to ask the backend.
    def take_seen = @seen.tap { @seen = nil }
    def take_shown = @shown.tap { @shown = nil }

    # @return [Leases::Lease] a lease that this call is about to acquire
    def new_lease = @lease = @fetch.leases.own(@key, @policy.lease_ttl, kept_version)

    # @return [Float] seconds for which a released lease keeps its stale value
    def stale_ttl = Tiercel::FetchPolicy::RACE_CONDITION_GRACE + (@policy.stale_seconds || 0)

    # Decides about the bytes under the key: see {Leases#acquire}.
    #
    # @return [Symbol, String, nil] `:current` if the bytes are a value that a read would return; otherwise the stale
    #   value for plain reads, or nil
    def verdict(bytes)
      entry = entry_of(bytes) or return
      return (entry.mismatched?(@version) ? bytes : :current) unless entry.expired?
      race_ttl = @options[:race_condition_ttl].to_i
      return longer(entry, race_ttl) if race_ttl.positive? && Tiercel::Clock.now - entry.expires_at <= race_ttl
      bytes if entry.is_a?(Tiercel::Coder::LazyEntry) && usable_stale?(entry, true) && !outdated?(entry)
    end

    # @param bytes [String, nil]
    # @return [Object] the value, if a read would return it; else MISS
    def value_of(bytes)
      entry = entry_of(bytes)
      return MISS if entry.nil? || entry.expired? || entry.mismatched?(@version)
      @fetch.reader.inherit_tags(entry)
      entry.value
    end

    # Returns whether this call may return the value of another caller's block. That block may have begun before an
    # invalidation of the tags that it added.
    #
    # @param other [Miss]
    def accepts?(other)
      return false if other.lost?
      return true if other.recorded.nil?
      @options[:tags]&.known == other.recorded || @fetch.generations.current?(other.recorded)
    end

    # --- expired values ---

    # Returns the lease's stale value: either plain reads return it too, or only `fetch` does.
    #
    # @return [Object] the value, or MISS
    def stale_beside(lease)
      return MISS unless lease.stale
      value = lease.mine? ? MISS : value_of(lease.stale)
      MISS.equal?(value) ? stale_value_of(lease.stale, after_error: lease.paused?) : value
    end

    # @param after_error [Boolean] whether a block has raised
    # @return [Object] the expired value, if the call may return it; else MISS
    def stale_value_of(bytes, after_error: false)
      entry = entry_of(bytes) or return MISS
      return MISS unless entry.is_a?(Tiercel::Coder::LazyEntry) && usable_stale?(entry, after_error)
      return MISS if entry.mismatched?(@version) || outdated?(entry)
      value = entry.value
      @fetch.reader.inherit_tags(entry)
      Tiercel::DeepFreeze.call(value) if @fetch.frozen_values
      value
    rescue ActiveSupport::Cache::DeserializationError
      MISS
    end

    # @return [Boolean] whether the entry itself allows its stale value after an error
    def error_covered?(bytes)
      entry = entry_of(bytes)
      entry.is_a?(Tiercel::Coder::LazyEntry) && (entry.frame.parts.stale&.last || 0) > Tiercel::Clock.now
    end

    # --- the block ---

    # Runs the block, and records its tags.
    #
    # @return [Object] the block's value
    def compute
      @computed = true
      @given = WriteOptions.allocate.of_miss(@options, @store)
      value = @fetch.timed(@key) { yield(@name, @given) }
      record_tags
      value
    end

    # @return [Hash, nil] the options of the write, which the block may have changed; nil if there is nothing to write
    def options_of_write(value)
      options = @given.options
      return if value.nil? && options[:skip_nil]
      options.equal?(@options) ? options : @store.options_of_write(options)
    end

    # Sends an event if the caller receives a value without running its block.
    def notify_of_hit
      return if @computed && !@stale
      @store.notify_of_hit(@name, @key, @stale ? { **@options, stale: true } : @options)
    end

    # --- inherited tags ---

    # @return [Boolean] whether an entry that the block reads adds its tags to this one
    def inherits? = @policy.inherit_tags

    # If two entries have different generations of a tag, the first one stays. The computed entry is then outdated,
    # and a miss.
    #
    # @param recorded [Hash{String => String}, nil] the generations of an entry's tags, by key; nil if unknown
    def inherit_tags(recorded)
      inherited = @inherited ||= {}
      return @lost = true unless recorded
      recorded.each { |key, generation| inherited[key] ||= generation }
    end

    # @return [Hash{String => String}, nil] the tags of the entries that the block has read
    attr_reader :inherited

    # @return [Boolean] whether the generations of the tags are unknown or outdated
    def lost? = @lost || false

    # @return [Boolean]
    def tagged? = !@recorded.nil? || lost?

    private

    def record_tags
      named = @given.options[:tags]
      return if named.nil? && @inherited.nil?
      @lost ||= named&.lost? || false
      @recorded = named&.known
      return unless @inherited
      @recorded = @inherited.merge(@recorded || {}) do |_key, inherited, own|
        @lost = true unless inherited == own # the tag was invalidated while the block ran
        own
      end
    end

    def entry_of(bytes)
      entry = bytes && @fetch.reader.entry(bytes, key: @key, raw: @options[:raw], compare: false)
      entry if entry && (entry.expired? || !outdated?(entry))
    end

    # Compares an entry's tags with the generations that this call has already read, which needs no trip.
    def outdated?(entry)
      recorded = @fetch.reader.recorded_tags(entry) or return false
      known = @options[:tags]&.known
      return false if known && recorded.all? { |key, generation| known[key] == generation }
      @fetch.reader.outdated?(entry)
    end

    def usable_stale?(entry, after_error)
      revalidate_until, error_until = entry.frame.parts.stale
      return false unless revalidate_until
      (after_error ? [revalidate_until, error_until].max : revalidate_until) > Tiercel::Clock.now
    end

    # Implements Rails' race_condition_ttl: extends an expired entry by this many seconds.
    def longer(entry, race_ttl)
      entry.expires_at = Tiercel::Clock.now + race_ttl
      @fetch.writer.frame_of_entry(@key, entry, @options[:compress], @options[:compress_threshold])
    end
  end

  # The options object that the block of a `fetch` receives: Rails' own object with the addition of `tags`.
  #
  #   cache.fetch("page") do |name, options|
  #     options.tags = ["product:1"]
  #     ...
  #   end
  class WriteOptions < ActiveSupport::Cache::WriteOptions
    # In place of `new`, a method of C, which would call `initialize` at a higher cost than Ruby does.
    #
    # @private
    # @param options [Hash{Symbol => Object}] options of the write. Most blocks set none, so the first setter copies
    #   them
    # @param store [ActiveSupport::Cache::TiercelStore]
    # @return [self]
    def of_miss(options, store)
      @options = options
      @store = store
      self
    end

    # @private
    # @return [Hash{Symbol => Object}]
    attr_reader :options

    superclass.public_instance_methods.grep(/\w=\z/).each do |setter|
      define_method(setter) do |value|
        unshare
        super(value)
      end
    end

    # @return [Array<String>] the entry's tags
    def tags = @options[:tags].to_a

    # Sets the tags of the entry. An invalidation of one of them makes the entry a miss, if it comes after this
    # call. The tags that the entry had before are compared with their earlier generations.
    #
    # @param tags [Array<Object>, Object, nil] like the option `tags`
    # @raise [ArgumentError] like the option `tags`
    def tags=(tags)
      unshare
      @store.retag(@options, tags)
    end

    private

    def unshare
      @options = @options.dup unless @own
      @own = true
    end
  end

  # The computations of one store in this process, and the callers that follow them: single flight.
  #
  # A caller never joins a computation by its key alone, because the computation may have begun before a delete that
  # the caller's read has followed. A caller asks for the lease first. If another caller of this process holds that
  # lease, or waits for it, the caller follows that caller's {Miss}. So the flights are known by the lineages of their
  # leases, and every delete ends a lineage. While the backend does not answer, there are no leases, so callers share a
  # block by the key.
  #
  # Each thread holds {Runtime#flights_lock} only for a moment.
  #
  # @private
  class Flights
    HELD = Tiercel::Runtime::HELD
    # Seconds after which a follower asks for its deadline again: a leader that begins to wait for another process
    # shortens it.
    LOOK = 1.0
    # From this many flights on, those with long-lapsed leases are dropped. If a fiber is suspended in its block and
    # then abandoned, Ruby runs no `ensure`, so nobody else removes its flight.
    MANY = 256
    AGAIN = [:again, nil].freeze
    private_constant :LOOK, :MANY, :AGAIN

    class << self
      # @return [Array<Miss>] the misses of this process whose blocks the code is in
      def held
        all = []
        miss = Fiber[HELD]
        while miss
          all |= [miss, *miss.others]
          miss = miss.outer
        end
        all.select(&:live?)
      end

      # @return [Boolean] whether this thread is inside a transaction. The block that it waits for may need a row that
      #   the transaction has locked
      def in_transaction?
        defined?(ActiveRecord) && ActiveRecord.respond_to?(:all_open_transactions) &&
          ActiveRecord.all_open_transactions.any?
      end
    end

    def initialize
      @runtime = Tiercel::Runtime.current
      @lock = @runtime.flights_lock
      @running = {}
      @many = MANY
    end

    # Runs a block as the miss's own.
    #
    # @return [Object] the block's value
    def within(miss, others = nil)
      outer = Fiber[HELD]
      @runtime.blocks += 1
      begin
        miss.enter(others, outer)
        Fiber[HELD] = miss
        yield
      ensure
        Fiber[HELD] = outer
        @runtime.blocks -= 1
      end
    end

    # @return [Integer] number of running and waiting computations
    def size = @lock.synchronize { @running.count { |_, miss| miss.live? } }

    # @return [Integer] number of callers of this process that wait for a computation
    def followers
      @lock.synchronize { @running.values.uniq.sum { |miss| miss.live? ? miss.followers : 0 } }
    end

    # Registers a miss under a lineage, unless another one is registered there.
    #
    # @param name [Object] a lineage; or a lineage and a version, for a block that runs while another version is
    #   leased; or a key and a version, for an additional registration while the backend does not answer
    # @return [Miss] the registered miss
    def register(miss, name, additional: false)
      @lock.synchronize do
        unregister(miss) if miss.registered && !additional
        other = @running[name]
        next other if other&.live?
        forget_lapsed if @running.size >= @many
        additional ? miss.registered_key = name : miss.registered = name
        @running[name] = miss
      end
    end

    # @return [void]
    def forget(miss) = @lock.synchronize { unregister(miss) }

    # Passes an outcome on to the followers. No caller can join from now on.
    #
    # - `:frame`: bytes of the store's own coder; `:stored`: an entry's bytes from the backend; `:value`: an object
    #   that cannot be dumped
    # - `:error`: the error that the block raised
    # - `:again`: nothing, so the followers begin again
    #
    # @return [void]
    def land(miss, kind, content = nil)
      @lock.synchronize do
        unregister(miss)
        outcome = [kind, content]
        [miss, (miss.relieves unless kind == :error || kind == :again)].each do |flight|
          next if flight.nil? || flight.outcome
          flight.outcome = outcome
          flight.landed&.broadcast
        end
      end
    end

    # Closes the flight to new followers, after its block has returned.
    #
    # @return [Boolean] whether a follower waits for the value; if not, this method has recorded an outcome already
    def close(miss)
      @lock.synchronize do
        unregister(miss)
        next true if miss.followers.positive? || miss.relieves
        miss.outcome ||= AGAIN
        false
      end
    end

    # Waits until another flight lands.
    #
    # @yieldreturn [Float] the end of the wait, a time of {Clock.monotonic}
    # @return [Array(Symbol, Object), Symbol] the outcome; or
    #
    #   - `:cycle`: the caller must not wait. The flight waits for this caller; or its leader cannot continue until
    #     this caller does
    #   - `:deadline`
    def await(miss, other)
      waiters = [miss, *Flights.held]
      @lock.synchronize do
        return :cycle if other.outcome.nil? && (other.stuck_behind_caller? || reaches?(other, waiters))
        other.relief_at ||= Tiercel::Clock.monotonic
        begin
          other.followers += 1
          waiters.each { |waiter| (waiter.following ||= []) << other }
          until other.outcome
            left = yield - Tiercel::Clock.monotonic
            return :deadline if left <= 0
            (other.landed ||= ConditionVariable.new).wait(@lock, [left, LOOK].min)
          end
        ensure
          other.followers -= 1
          waiters.each { |waiter| drop_one(waiter.following, other) }
        end
        other.outcome
      end
    end

    # If the leader takes too long, lets one follower run the block as well, and one more after each further interval.
    # All followers receive the first value.
    #
    # @param after [Float] seconds after which a block takes too long
    # @return [Float, nil] the time of {Clock.monotonic} until which the caller keeps waiting; nil if the caller
    #   should run its own block
    def relieve(miss, other, after)
      @lock.synchronize do
        now = Tiercel::Clock.monotonic
        due = other.outcome ? now : other.relief_at + after
        next due if other.outcome || due > now
        other.relief_at = now
        miss.relieves = other
        nil
      end
    end

    private

    # Safe to call twice: a caller that is killed calls it again when it leaves.
    def unregister(miss)
      name = miss.registered
      if name
        miss.registered = nil
        @running.delete(name) if @running[name].equal?(miss)
      end
      name = miss.registered_key or return
      miss.registered_key = nil
      @running.delete(name) if @running[name].equal?(miss)
    end

    # Returns whether a flight waits for one of the waiters, directly or through other flights.
    def reaches?(flight, waiters, seen = [])
      return true if waiters.any? { |waiter| waiter.equal?(flight) }
      return false if seen.any? { |other| other.equal?(flight) }
      seen << flight
      flight.following&.any? { |next_one| reaches?(next_one, waiters, seen) } || false
    end

    def drop_one(list, item)
      at = list&.index { |other| other.equal?(item) }
      list.delete_at(at) if at
    end

    def forget_lapsed
      longest_ago = Tiercel::Clock.monotonic - Tiercel::Leases::OUTLIVES
      @running.delete_if { |_, miss| miss.flying && miss.flying.lapses_at < longest_ago } # see Lease#lapses_at
      @many = [MANY, @running.size * 2].max
    end
  end
end
