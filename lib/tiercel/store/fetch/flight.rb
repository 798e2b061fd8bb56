# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../counter"
require_relative "../../forks"
require_relative "interruption"
require_relative "flight/waiting"
require_relative "leader"

module Tiercel
  module Store
    module Fetch
      # One computation of a key in this process, and those who wait for it: single flight.
      #
      # Its leader takes the lease, computes, and lands it with an {Outcome}; followers wait. What is said here is
      # guarded by one lock for all flights of the process, which is held for no longer than it takes to look: so a
      # cycle of waits can be seen across stores.
      #
      # @private
      class Flight
        include Waiting

        # The outcome. kind: `:frame` (bytes of the store's own coder), `:found` (bytes as a backend had them),
        # `:value` (an object that could not be dumped), `:error` (what the block raised), `:again` (look anew),
        # `:abandoned` (the leader left without an end: throw, break, a killed thread, Timeout), `:gone` (the leader
        # will never come back, and has left its lease behind: see {Leader}).
        Outcome = Struct.new(:kind, :content)

        LOCK = Mutex.new
        # Where nobody has waited.
        AGAIN = Outcome.new(:again).freeze
        ABANDONED = Outcome.new(:abandoned).freeze
        GONE = Outcome.new(:gone).freeze
        # Kinds that have a value.
        VALUES = %i[frame found value].freeze
        private_constant :AGAIN, :ABANDONED, :GONE, :VALUES

        # @return [Backend] of the key
        attr_reader :backend
        # @return [String]
        attr_reader :key
        # @return [Object] see {Call#wanted}
        attr_reader :wanted
        # @return [Leases::Lease, nil] what is known of the lease, one's own or somebody else's
        attr_reader :lease
        # @return [String, Integer, nil] bytes that the block itself wrote under the key, or to which it counted
        attr_accessor :rewritten
        # @return [Boolean] whether the block itself deleted the key
        attr_accessor :deleted
        # @return [Boolean] whether its block runs behind its caller, and will land it
        attr_writer :behind
        # @return [Tags::Named, nil] of what the block has given
        attr_accessor :tags
        # @return [Boolean] whether it lands with what somebody else computes
        attr_accessor :borrowed
        # @return [Leases::Lease, nil] one for another version, beside which its block runs: nothing of it is stored,
        #   but callers that meet the same lease may wait for it
        attr_accessor :beside
        # @return [String, Array, Flight, false] whether it counts as one whose block runs ({Flights#begin}): under
        #   which lineage, or the flight where there is none
        attr_accessor :counted

        # @param wanted [Object] see {Call#wanted}
        def initialize(backend, key, wanted)
          @backend = backend
          @key = key
          @wanted = wanted
          @process = Forks.current
          @leader = Leader.current
          @followers = 0
          @waits_for = @landed = @outcome = @lease = @rewritten = @since = @relief = @relieved = @beside = nil
          @running = @closed = @behind = @borrowed = @counted = @deleted = false
        end

        # @return [Boolean] whether it computes that key of that backend
        def of?(backend, key)
          @backend.equal?(backend) && @key.bytesize == key.bytesize && (@key == key || @key.b == key.b)
        end

        # @return [Boolean] see {#behind=}
        def behind? = @behind

        # @return [Boolean] whether its block runs
        def running? = @running

        # @return [Boolean] whether nobody waits for it any more
        def landed? = !@outcome.nil?

        # A caller that asks before the lease is known may join, since the block has not begun. After that, only a
        # caller that just read the lineage that is being computed: anybody else may have read after an invalidation.
        #
        # @param lineage [String, nil] that the caller's read has shown
        # @return [Boolean]
        def admits?(wanted, lineage)
          @wanted == wanted && @outcome.nil? && !@closed && (@lease ? @lease.lineage == lineage : !@running)
        end

        # @return [Leases::Lease, nil] whose lineage others who compute the same may fill
        def lease_to_fill = @beside ? nil : @lease

        # A caller that joined without this may have read after an invalidation that the leader's take has not seen:
        # only a block that begins afterwards is theirs, no value and no lease that the take has met.
        #
        # @param lineage [String, nil] that the caller's read has shown
        # @return [Boolean] whether it is that of the flight
        def shows?(lineage) = !@lease.nil? && @lease.lineage == lineage

        # @return [Boolean] whether it is under way in this process
        def live? = @outcome.nil? && Forks.current?(@process)

        # Stores a value in the place of what its block has written under the key itself: what the block returns comes
        # after that, as with Rails' own stores.
        #
        # @param guard [Guard]
        # @param bytes [String]
        # @param ttl [Numeric, nil] seconds
        # @return [Boolean, nil] whether it is stored
        def overwrite(guard, bytes, ttl)
          return false unless @rewritten
          guard.call(:write_entry, @key) do
            present, token = @backend.get_with_token(@key)
            next false unless present
            written = @rewritten.is_a?(Integer) ? Counter.parse(present) : present
            written == @rewritten && @backend.compare_and_set(@key, bytes, token, ttl)
          end
        end

        # Tells the followers what is known of the lease, so that they may serve a stale value.
        #
        # @param lease [Leases::Lease, nil] nil where the block runs without one: then nobody comes along any more
        # @param running [Boolean] whether the block begins
        # @return [void]
        def learn(lease, running:)
          LOCK.synchronize do
            @lease = lease
            @running = running
            @leader = Leader.current
            @since &&= Clock.monotonic
            @landed&.broadcast
          end
        end

        # Under the lock: lands it if its leader will never do so.
        #
        # @return [Boolean] whether that is so
        def desert
          return @outcome.equal?(GONE) if @outcome
          return false if @relief&.live? || !@leader.gone?
          @outcome = GONE
          @landed&.broadcast
          true
        end

        # Under the lock: the lease is there, and the block begins.
        #
        # @param lease [Leases::Lease]
        # @return [void]
        def begin(lease)
          @lease = lease
          @running = true
          @landed&.broadcast
        end

        # Under the lock: nobody comes along from here on.
        #
        # @param landed [Boolean] whether there is a value to land with
        # @return [Boolean] whether somebody waits for it; if not, it has landed
        def close(landed)
          @closed = true
          return true if landed && @followers.positive?
          @outcome ||= landed ? AGAIN : ABANDONED
          @landed&.broadcast
          false
        end

        # @param kind [Symbol] see {Outcome}
        # @return [void]
        def land(kind, content = nil)
          LOCK.synchronize do
            next if @outcome
            @outcome = Outcome.new(kind, content)
            @landed&.broadcast
          end
          @relieved.land(kind, content) if @relieved && VALUES.include?(kind)
        end

        # Lands with what the block raised, if anybody waits for that. What was raised into it from outside is the
        # leader's own: then somebody takes over.
        #
        # @param error [StandardError] while it is rescued
        # @return [void]
        def land_error(error)
          land(:error, error) if followed_to_its_end? && !Interruption.of?(error)
        end

        # Lands with what the block gave. Nobody comes along from here on; for those who have, a copy is made.
        #
        # @yieldreturn [String, nil] a frame of it
        # @return [void]
        def land_value(value)
          frame = yield if followed_to_its_end?
          frame ? land(:frame, frame) : land(:value, value)
        end

        # Nobody comes along from here on.
        #
        # @return [Boolean] whether somebody has
        def followed_to_its_end?
          LOCK.synchronize do
            @closed = true
            @followers.positive? || !@relieved.nil?
          end
        end
      end
    end
  end
end
