# frozen_string_literal: true

require "digest"

module Tiercel
  class Fetch
    # One missed key of a `fetch` or `fetch_multi`: the caller's options, and the block that computes the value. Once
    # the block runs, or the caller waits for another process, other callers of this process follow the miss
    # ({Flights}).
    #
    # @private
    class Miss
      MISS = Coder::MISS
      # The namespace that a Proc returned when the call began, and the Proc, which subscribers receive. In the thread
      # that stores the value, the Proc may return another namespace.
      OneNamespace = Struct.new(:proc, :call)
      private_constant :MISS

      # @return [Hash] the options, with the namespace that a Proc returns now
      def self.in_one_namespace(options)
        namespace = options[:namespace]
        return options unless namespace.respond_to?(:call)
        options.merge(namespace: OneNamespace.new(namespace, namespace.call))
      end

      # Set once: name, key (String), version (String, nil), options (merged Hash), policy ({FetchPolicy})
      attr_reader :store, :name, :key, :version, :options, :policy
      # @return [Hash{String => Integer}, nil] generations by key: of the tags of the block's value, and of the tags of
      #   the entries that the block has read; nil without tags
      attr_reader :recorded
      # @return [#call, nil] wraps the step that stores the value
      attr_accessor :storing
      # Facts for the events: whether the caller receives an expired value; whether it took the lease over from a slow
      # or dead holder; the reason to compute although a value exists
      attr_accessor :stale, :takeover, :reason
      # @return [Boolean] whether the caller has not read the key yet
      attr_accessor :unread
      # @return [Boolean] whether the block has run
      attr_reader :computed
      # @return [String, Integer, nil] the bytes, or the count of a counter, that the block itself has written under the
      #   key
      attr_accessor :rewritten
      # @return [Boolean] whether the block itself deleted the key
      attr_accessor :deleted
      # @return [Leases::Lease, nil] the lease that the caller acquires or holds, until the value is stored
      attr_accessor :lease

      # The part of a miss that other callers see; {Flights} alone changes it, under its lock.
      #
      # - following: the misses of this process for which code inside the block waits
      # - flying: the lease of the running block, or of the awaited process
      # - outcome: [kind, content]; see {Flights#land}
      # - registered: the name under which other callers find the miss
      # - heir: whether it has replaced a miss whose thread died
      # - relieves: the miss whose block takes too long; this miss runs its own block as well
      attr_accessor :outcome, :followers, :landed, :following, :relieves, :relief_at, :registered, :registered_key,
                    :heir
      attr_reader :flying
      # While its block runs: the misses whose leases the same call holds, and the miss of the enclosing block
      attr_reader :others, :outer
      # Times of {Clock.monotonic} at which the caller stops waiting for a caller of this process and for another
      # process
      attr_accessor :near_deadline, :far_deadline

      def initialize(fetch, store, name, key, version, options, policy, found)
        @fetch = fetch
        @store = store
        @name = name
        @key = key.frozen? ? key : key.dup.freeze
        @version = version
        @options = Miss.in_one_namespace(options)
        @policy = policy
        @process = Forks.current
        @followers = 0
        # Sets the variables that later steps set, so that all misses have one object shape from the beginning.
        @outcome = @registered = @lease = @flying = @thread = @by_hand = @others = @outer = @given = nil
        @far = @computed = false
        return unless found
        @seen = fetch.leases.seen(@key, found.bytes)
        @shown = Leases::Present.new(found.bytes, found.token) if found.token && @seen.nil?
      end

      # `new`, a method of C, would call `initialize` at a higher cost than Ruby does.
      #
      # @return [self] of a call that has just begun
      def of_call(fetch, store, name, key, version, options, policy, found)
        initialize(fetch, store, name, key, version, options, policy, found)
        self
      end

      # @return [Miss] the same miss, for a block that runs in the background with this miss's lease
      def in_background
        job = dup
        job.instance_exec do
          @background = true
          @stale = nil
          @followers = 0
          @registered = @registered_key = @flying = @outcome = @landed = @following = @relief_at = nil
        end
        job
      end

      # @return [Boolean] whether the miss is of this key of this backend
      def of?(backend, key)
        @fetch.backend.equal?(backend) && @key.bytesize == key.bytesize && (@key == key || @key.b == key.b)
      end

      # @return [Boolean] whether the miss belongs to this process and shares its tags with the backend's entries
      def reads?(backend) = ours? && @fetch.backends.any? { |own| own.equal?(backend) }

      # @return [Leases::Lease, nil] the lease that the caller's read has found
      attr_reader :seen

      # @return [Boolean] whether the miss has an outcome and accepts no more followers
      def landed? = @outcome && @registered.nil? && @registered_key.nil?

      # @return [Boolean] whether its caller has neither a lease nor a registration any more
      def left? = @lease.nil? && landed?

      # @return [Boolean] whether it belongs to this process, and not to its parent
      def ours? = @process == Forks.current

      # @return [Boolean] whether it has not landed and belongs to this process
      def live? = @outcome.nil? && @process == Forks.current

      # @return [Boolean] whether the leading fiber will never continue: its thread has died. Ruby runs no `ensure` of a
      #   fiber that was suspended in a dead thread
      def deserted? = @thread && !@thread.alive?

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
        @far = false
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
        @far = true
      end

      # @return [Boolean] whether it waits for another process
      def far? = @far || false

      # @return [Boolean] whether an earlier leader has abandoned this caller already
      def abandoned_again?
        before = @abandoned
        @abandoned = true
        before || false
      end

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
        version = @version && Frame::Version.kept(@version)
        tags = self.tags or return version
        known = tags.known or return version # the backend failed; nothing will be stored
        Frame::Version.kept("tags:#{Digest::SHA256.hexdigest(known.sort.join("\0"))}:#{version}")
      end

      # @return [Leases::Lease, nil] the lease that the caller's read has found, once
      def take_seen
        seen = @seen
        @seen = nil
        seen
      end

      # @return [Leases::Lease] a lease that this call is about to acquire
      def new_lease = @lease = @fetch.leases.own(@key, @policy.lease_ttl, kept_version)

      # Returns the entry that the read found, for the first take, which then saves a trip. Later calls return nil.
      #
      # @return [Leases::Present, nil]
      def take_shown
        shown = @shown or return
        @shown = nil
        shown
      end

      # Releases a lease without storing a value.
      def release(lease) = @fetch.leases.release(lease, stale_ttl:)

      # @return [Float] seconds for which a released lease keeps its stale value
      def stale_ttl = FetchPolicy::RACE_CONDITION_GRACE + (@policy.stale_seconds || 0)

      # The value that plain reads return during the computation: see {Leases#take}.
      #
      # @return [Symbol, String, nil]
      def verdict(bytes)
        entry = entry_of(bytes) or return
        return (entry.mismatched?(@version) ? bytes : :current) unless entry.expired?
        race_ttl = @options[:race_condition_ttl].to_i
        return longer(entry, race_ttl) if race_ttl.positive? && Clock.now - entry.expires_at <= race_ttl
        bytes if entry.is_a?(Coder::LazyEntry) && usable_stale?(entry, true) && !outdated?(entry)
      end

      # @param bytes [String, nil]
      # @return [Object] the value, if a read would return it; else MISS
      def value_of(bytes)
        entry = entry_of(bytes)
        return MISS if entry.nil? || entry.expired? || entry.mismatched?(@version)
        inherit(entry)
        value = entry.value
        DeepFreeze.call(value) if @fetch.frozen_values
        value
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

      # Uses the result of the caller's own read, so no trip is needed.
      #
      # @return [Object] the stale value of the lease that the read has found, or MISS
      def stale_at_hand
        return MISS if @seen.nil? || @seen.released? || @fetch.leases.lapsed?(@seen)
        stale_beside(@seen)
      end

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
        return MISS unless entry.is_a?(Coder::LazyEntry) && usable_stale?(entry, after_error)
        return MISS if entry.mismatched?(@version) || outdated?(entry)
        value = entry.value
        inherit(entry)
        DeepFreeze.call(value) if @fetch.frozen_values
        value
      rescue ActiveSupport::Cache::DeserializationError
        MISS
      end

      # @return [Boolean] whether the entry itself allows its stale value after an error
      def error_covered?(bytes)
        entry = entry_of(bytes)
        entry.is_a?(Coder::LazyEntry) && (entry.frame.parts.stale&.last || 0) > Clock.now
      end

      # --- the block ---

      # Runs the block.
      #
      # @return [Object] the block's value
      def compute
        @computed = true
        options = @fetch.shares_options ? @options : @options.dup
        @given = WriteOptions::CopiedWhenSet.allocate.sharing(options, @store)
        Observer.timed(@fetch.backend, @key) { yield @name, @given }
      end

      # @return [Hash] the options after the block, which may have changed them
      def options_after_block = @given ? @given.options : @options

      # --- inherited tags ---

      # @return [Boolean] whether an entry that the block reads adds its tags to this one
      def inherits? = @policy.inherit_tags

      # If two entries have different generations of a tag, the first one stays. The computed entry is then outdated,
      # and a miss.
      #
      # @param recorded [Hash{String => Integer}, nil] the generations of an entry's tags, by key; nil if unknown
      def inherit_tags(recorded)
        inherited = @inherited ||= {}
        return @lost = true unless recorded
        recorded.each { |key, generation| inherited[key] ||= generation }
      end

      # @return [Hash{String => Integer}, nil] the tags of the entries that the block has read
      attr_reader :inherited

      # The block has returned: records its tags.
      def record_tags
        named = options_after_block[:tags]
        return if named.nil? && @inherited.nil?
        @lost ||= named&.lost? || false
        @recorded = named&.known
        return unless @inherited
        @recorded = @inherited.merge(@recorded || {}) do |_key, inherited, own|
          @lost = true unless inherited == own # the tag was invalidated while the block ran
          own
        end
      end

      # @return [Boolean] whether the generations of the tags are unknown or outdated
      def lost? = @lost || false

      # @return [Boolean]
      def tagged? = !@recorded.nil? || lost?

      # --- events ---

      # Adds the time of a wait.
      #
      # @return [Object] the block's value
      def timed
        began = Clock.monotonic
        yield
      ensure
        @waited = (@waited || 0.0) + ((Clock.monotonic - began) * 1_000)
      end

      # @return [Hash{Symbol => Object}] additions to Rails' payload of a `cache_fetch_hit`
      def facts_of_hit = { stale: @stale, waited: @waited&.round(1) }.compact

      # @return [Hash{Symbol => Object}] additions to Rails' payload of a `cache_generate`
      def facts_of_block
        { waited: @waited&.round(1), takeover: @takeover, reason: @reason, background: @background }.compact
      end

      private

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

      # An outer block receives this value.
      def inherit(entry)
        @fetch.reader.inherit_tags(entry) if Fetch.inside?
      end

      def usable_stale?(entry, after_error)
        revalidate_until, error_until = entry.frame.parts.stale
        return false unless revalidate_until
        (after_error ? [revalidate_until, error_until].max : revalidate_until) > Clock.now
      end

      # Implements Rails' race_condition_ttl: extends an expired entry by this many seconds.
      def longer(entry, race_ttl)
        entry.expires_at = Clock.now + race_ttl
        @fetch.writer.frame_of_entry(@key, entry, @options[:compress], @options[:compress_threshold])
      end
    end
  end
end
