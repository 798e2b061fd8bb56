# frozen_string_literal: true

require_relative "../clock"
require_relative "../forks"

module Tiercel
  class Leases
    # The lease of one key, as who took it or met it sees it. See {Leases} for the words.
    #
    # @private
    class Lease
      # Bytes of a lineage and of a holder.
      NAME_BYTES = 8
      # In the place of a holder: given back without a value; and nobody is to compute for a while.
      RELEASED = ("\0" * NAME_BYTES).b.freeze
      PAUSED = ("\xFF" * NAME_BYTES).b.freeze

      # Seeded by the system, in each process anew: what an application seeds is of no influence.
      #
      # @return [String] a new lineage or holder
      def self.new_name
        unless Forks.current?(@process)
          @random = Random.new
          @process = Forks.current
        end
        @random.bytes(NAME_BYTES).freeze
      end

      # @param ttl [Float] seconds
      # @param lineage [String] the lineage that it begins
      # @param holder [String] its own name
      # @return [Lease] one that this process is about to take
      def self.own(key, ttl, version, lineage = new_name, holder = new_name)
        new(key, lineage, holder).owned(version, Clock.monotonic + ttl)
      end

      # @return [String]
      attr_reader :key
      # @return [String] 8 bytes
      attr_reader :lineage
      # @return [String] 8 bytes
      attr_reader :holder
      # @return [String, nil] of the value that is being computed
      attr_reader :version
      # @return [String, nil] the stale value's bytes
      attr_reader :stale
      # @return [Object, nil] what the implementation needs to find its own place again
      attr_reader :token
      # @return [Float, nil] of {Clock.monotonic}: when it lapses, as far as this process can tell
      attr_reader :lapses_at

      def initialize(key, lineage, holder, mine: false, sure: true, version: nil, stale: nil, token: nil,
                     lapses_at: nil)
        @key = key
        @lineage = lineage
        @holder = holder
        @mine = mine
        @sure = sure
        @version = version
        @stale = stale
        @token = token
        @lapses_at = lapses_at
        @takeover = false
        @process = Forks.current
      end

      # @return [self] before it is seen by anybody
      def owned(version, lapses_at)
        @mine = true
        @version = version
        @lapses_at = lapses_at
        self
      end

      # @return [Boolean] whether it is one's own, known to be there, with nothing beside it, and in nobody's place
      def begun? = mine? && @sure && @stale.nil? && !@takeover

      # @param token [Object] of the backend
      # @return [Lease] the same, found there
      def with(token) = dup.tap { |lease| lease.change(token:) }

      # @return [Lease] the same, of which nobody knows whether it is there
      def unsure = dup.tap { |lease| lease.change(sure: false) }

      # @return [Lease] the same, of which the backend was not told
      def unasked = dup.tap { |lease| lease.change(sure: nil) }

      # @param predecessor [Lease, nil] in whose place it comes, and whose lineage it goes on with
      # @param stale [String, nil]
      # @return [Lease]
      def heir(predecessor, stale)
        takeover = !predecessor.nil? && !predecessor.released? && !predecessor.paused?
        dup.tap { |lease| lease.change(lineage: predecessor ? predecessor.lineage : lineage, stale:, takeover:) }
      end

      # @return [Boolean] whether this process took it, and is no child of the one that did
      def mine? = @mine && Forks.current?(@process)

      # @return [Boolean] false where nobody knows whether the take reached the backend
      def sure? = @sure ? true : false

      # @return [Boolean] false where the take was not even sent
      def asked? = !@sure.nil?

      # @return [Boolean] whether another holder had not filled in its time
      def takeover? = @takeover

      # @return [Boolean] whether its holder gave it back without a value
      def released? = @holder == RELEASED

      # @return [Boolean] whether nobody is to compute for a while
      def paused? = @holder == PAUSED

      # @param other [Lease]
      # @return [Boolean] whether it is of the same chain of computations
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
