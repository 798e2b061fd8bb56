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
      # One computation of a key in this process, and the callers that wait for it: single flight.
      #
      # The leader acquires the lease, computes, and lands the flight with an {Outcome}; followers wait for that. One
      # lock guards all flights of the process, so a cycle of waits shows across stores. Nobody holds it for longer than
      # a look.
      #
      # @private
      class Flight
        include Waiting

        # The end of a flight, and what followers receive. kind:
        #
        # - `:frame`: bytes of the store's own coder; `:found`: bytes as a backend had them; `:value`: an object that
        #   could not be dumped
        # - `:error`: the block has raised it
        # - `:again`: nothing; followers look anew
        # - `:abandoned`: nothing; the leader left its block by throw, break, a killed thread or Timeout
        # - `:gone`: nothing; the leader will never come back, and its lease is still there ({Leader})
        Outcome = Struct.new(:kind, :content)

        LOCK = Mutex.new
        # For a flight that nobody waits for.
        AGAIN = Outcome.new(:again).freeze
        ABANDONED = Outcome.new(:abandoned).freeze
        GONE = Outcome.new(:gone).freeze
        # Kinds with a value.
        VALUES = %i[frame found value].freeze
        private_constant :AGAIN, :ABANDONED, :GONE, :VALUES

        # @return [Backend] of the key
        attr_reader :backend
        # @return [String]
        attr_reader :key
        # @return [Object] see {Call#wanted}
        attr_reader :wanted
        # @return [Leases::Lease, nil] the leader's lease, or the one that the leader waits for
        attr_reader :lease
        # @return [String, Integer, nil] the bytes that the block has written under the key, or its count there
        attr_accessor :rewritten
        # @return [Boolean] whether the block itself deleted the key
        attr_accessor :deleted
        # @return [Boolean] whether another thread runs its block, and will land it
        attr_writer :behind
        # @return [Tags::Named, nil] of the block's value
        attr_accessor :tags
        # @return [Boolean] whether it lands with the value of another process or flight
        attr_accessor :borrowed
        # @return [Leases::Lease, nil] a lease for another version, beside which its block runs: its value is not
        #   stored, but callers that meet the same lease may wait for it
        attr_accessor :beside
        # @return [String, Array, Flight, false] while its block runs, {Flights} counts it under this: a lineage, or
        #   the flight itself
        attr_accessor :counted

        # @param wanted [Object] see {Call#wanted}
        def initialize(backend, key, wanted)
          @backend = backend
          @key = key
          @wanted = wanted
          @process = Forks.current
          @leader = Thread.current[Leader::CURRENT] || Leader.current
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

        # @return [Boolean] whether it has an outcome
        def landed? = !@outcome.nil?

        # A caller that comes before the lease is known may join, because the block has not begun. Later, only a caller
        # that has just read the same lineage may join: any other caller may have read after an invalidation.
        #
        # @param lineage [String, nil] that the caller's read has shown
        # @return [Boolean]
        def admits?(wanted, lineage)
          @wanted == wanted && @outcome.nil? && !@closed && (@lease ? @lease.lineage == lineage : !@running)
        end

        # @return [Leases::Lease, nil] whose lineage another caller that computes the same value may fill
        def lease_to_fill = @beside ? nil : @lease

        # A caller that joined without this may have read after an invalidation that the leader's acquire has not seen.
        # It accepts the value of a block that begins afterwards, and no value or lease that the acquire has met.
        #
        # @param lineage [String, nil] that the caller's read has shown
        # @return [Boolean] whether it is that of the flight
        def shows?(lineage) = !@lease.nil? && @lease.lineage == lineage

        # @return [Boolean] whether it is under way in this process
        def live? = @outcome.nil? && Forks.current?(@process)

        # Stores the block's value over what the block itself has written under the key, as Rails' own stores do: the
        # block returns later than it writes.
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

        # Wakes the followers, which may return a stale value of the lease.
        #
        # @param lease [Leases::Lease, nil] nil where the block runs without one: then no further caller may join
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

        # Under the lock: lands it if its leader is gone.
        #
        # @return [Boolean] whether the leader is gone
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

        # Under the lock: no further caller may join.
        #
        # @param landed [Boolean] whether there is a value to land with
        # @return [Boolean] whether a follower waits for it; if not, it has landed
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

        # Lands with the error of the block, if a follower waits. An error that was raised into the block from outside
        # concerns the leader alone: then a follower takes over.
        #
        # @param error [StandardError] while it is rescued
        # @return [void]
        def land_error(error)
          land(:error, error) if followed_to_its_end? && !Interruption.of?(error)
        end

        # Lands with the value of the block: a copy, if a follower waits. No further caller may join.
        #
        # @yieldreturn [String, nil] a frame of it
        # @return [void]
        def land_value(value)
          frame = yield if followed_to_its_end?
          frame ? land(:frame, frame) : land(:value, value)
        end

        # No further caller may join.
        #
        # @return [Boolean] whether a follower waits
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
