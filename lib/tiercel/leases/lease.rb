# frozen_string_literal: true

module Tiercel
  class Leases
    # The lease of one key, as its holder or another caller sees it. {Leases} explains the terms.
    #
    # @private
    class Lease
      # Size of a lineage and of a holder.
      NAME_BYTES = 8
      # Reserved holder names: released without a value; paused, so that no caller computes for a while.
      RELEASED = ("\0" * NAME_BYTES).b.freeze
      PAUSED = ("\xFF" * NAME_BYTES).b.freeze

      # Seeded by the system in each process, so an application's own seed has no influence.
      #
      # @return [String] a new lineage or holder
      def self.new_name(runtime = Runtime.current)
        unless runtime.seeded_by == Forks.current
          runtime.random = Random.new
          runtime.seeded_by = Forks.current
        end
        runtime.random.bytes(NAME_BYTES).freeze
      end

      # @return [Lease] a lease that this process is about to acquire
      def self.own(key, ttl, version, lineage = new_name, holder = new_name)
        # `new`, a method of C, would call `initialize` at a higher cost than Ruby does.
        allocate.owned(key, lineage, holder, version, ttl)
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
        @process = Forks.current
      end

      # @return [self] for a new lease that no other thread uses yet
      def owned(key, lineage, holder, version, ttl)
        initialize(key, lineage, holder, version:)
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
      def lapses_at = @lapses_at ||= Clock.monotonic + @ttl

      # @return [Lease] a copy with the implementation's reference
      def with(token) = change { @token = token }

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
      def mine? = @mine && @process == Forks.current

      # @return [Boolean] false if it is unknown whether the take reached the backend
      def sure? = @sure ? true : false

      # @return [Boolean] false if the take was never sent
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
end
