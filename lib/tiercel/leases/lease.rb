# frozen_string_literal: true

require_relative "../clock"
require_relative "../forks"

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
      def self.new_name
        unless @process == Forks.current
          @random = Random.new
          @process = Forks.current
        end
        @random.bytes(NAME_BYTES).freeze
      end

      # @param ttl [Float] seconds
      # @param lineage [String] the lineage that the lease begins
      # @param holder [String] the name of this holder
      # @return [Lease] a lease that this process is about to acquire
      def self.own(key, ttl, version, lineage = new_name, holder = new_name)
        # `new`, a method of C, would call `initialize` at a higher cost than Ruby does.
        allocate.owned(key, lineage, holder, version, Clock.monotonic + ttl)
      end

      # @return [String]
      attr_reader :key
      # @return [String] 8 bytes
      attr_reader :lineage
      # @return [String] 8 bytes
      attr_reader :holder
      # @return [String, nil] the version of the value that is being computed
      attr_reader :version
      # @return [String, nil] the stale value's bytes
      attr_reader :stale
      # @return [Object, nil] the implementation's reference to the stored lease
      attr_reader :token
      # @return [Float, nil] the time of {Clock.monotonic} at which the lease lapses, as far as this process knows
      attr_reader :lapses_at

      def initialize(key, lineage, holder, version: nil, stale: nil, token: nil, lapses_at: nil)
        @key = key
        @lineage = lineage
        @holder = holder
        @mine = false
        @sure = true
        @version = version
        @stale = stale
        @token = token
        @lapses_at = lapses_at
        @takeover = false
        @process = Forks.current
      end

      # @return [self] for a new lease that no other thread uses yet
      def owned(key, lineage, holder, version, lapses_at)
        initialize(key, lineage, holder, version:, lapses_at:)
        @mine = true
        self
      end

      # @return [Boolean] whether this process certainly holds it, without a stale value and without a takeover
      def begun? = mine? && @sure && @stale.nil? && !@takeover

      # @param token [Object] the backend's token
      # @return [Lease] a copy with this token
      def with(token) = dup.tap { |lease| lease.change(token:) }

      # @param token [Object] the backend's token
      # @return [self] for a new lease that no other thread uses yet
      def stored_as(token)
        @token = token
        self
      end

      # @return [Lease] a copy whose existence in the backend is unknown
      def unsure = dup.tap { |lease| lease.change(sure: false) }

      # @return [Lease] a copy that was never sent to the backend
      def not_sent = dup.tap { |lease| lease.change(sure: nil) }

      # @param predecessor [Lease, nil] the replaced lease, whose lineage it continues
      # @param stale [String, nil]
      # @return [Lease]
      def successor(predecessor, stale)
        takeover = !predecessor.nil? && !predecessor.released? && !predecessor.paused?
        dup.tap { |lease| lease.change(lineage: predecessor ? predecessor.lineage : lineage, stale:, takeover:) }
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

      # @param other [Lease]
      # @return [Boolean] whether both belong to the same chain of computations
      def same_lineage?(other) = @lineage == other.lineage

      protected

      def change(lineage: @lineage, token: @token, sure: @sure, stale: @stale, takeover: @takeover)
        @lineage = lineage
        @token = token
        @sure = sure
        @stale = stale
        @takeover = takeover
      end
    end
  end
end
