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
      # The leader acquires the lease, computes the value, and lands the flight with an {Outcome}. Followers wait for
      # the outcome. One lock guards all flights of the process, so that a cycle of waits is found even across stores.
      # Each thread holds the lock only for a moment.
      #
      # @private
      class Flight
        include Waiting

        # The result of a flight, which its followers receive. kind:
        #
        # - `:frame`: bytes of the store's own coder; `:found`: an entry's bytes from the backend; `:value`: an object
        #   that cannot be dumped
        # - `:error`: the error that the block raised
        # - `:again`: no value; followers begin again
        # - `:abandoned`: no value; the leader left its block by throw, break, a killed thread or Timeout
        # - `:gone`: no value; the leader will never return, and its lease still exists ({Leader})
        Outcome = Struct.new(:kind, :content)

        LOCK = Mutex.new
        # The outcomes without content.
        AGAIN = Outcome.new(:again).freeze
        ABANDONED = Outcome.new(:abandoned).freeze
        GONE = Outcome.new(:gone).freeze
        # Kinds with a value.
        VALUES = %i[frame found value].freeze
        private_constant :AGAIN, :ABANDONED, :GONE, :VALUES

        # @return [Backend] the key's backend
        attr_reader :backend
        # @return [String]
        attr_reader :key
        # @return [Object] see {Call#wanted}
        attr_reader :wanted
        # @return [Leases::Lease, nil] the leader's lease, or the one that the leader waits for
        attr_reader :lease
        # @return [String, Integer, nil] the bytes, or the count of a counter, that the block itself has written under
        #   the key
        attr_accessor :rewritten
        # @return [Boolean] whether the block itself deleted the key
        attr_accessor :deleted
        # @return [Boolean] whether another thread runs the block and lands the flight
        attr_writer :behind
        # @return [Tags::Named, nil] the tags of the block's value
        attr_accessor :tags
        # @return [Boolean] whether the flight lands with the value of another process or flight
        attr_accessor :borrowed
        # @return [Leases::Lease, nil] a lease for another version that stands while this block runs. The block's value
        #   is not stored, but callers that find the same lease may wait for it
        attr_accessor :beside
        # @return [String, Array, Flight, false] the name under which {Flights} counts the running block: a lineage, or
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

        # @return [Boolean] whether the flight computes this key of this backend
        def of?(backend, key)
          @backend.equal?(backend) && @key.bytesize == key.bytesize && (@key == key || @key.b == key.b)
        end

        # @return [Boolean] see {#behind=}
        def behind? = @behind

        # @return [Boolean] whether the block is running
        def running? = @running

        # @return [Boolean] whether the flight has an outcome
        def landed? = !@outcome.nil?

        # A caller may join before the lease is acquired, because the block has not begun. Later, only a caller that has
        # just read the same lineage may join: any other caller may have read after an invalidation.
        #
        # @param lineage [String, nil] the lineage that the caller's read has found
        # @return [Boolean]
        def admits?(wanted, lineage)
          @wanted == wanted && @outcome.nil? && !@closed && (@lease ? @lease.lineage == lineage : !@running)
        end

        # @return [Leases::Lease, nil] the lease under which another caller that computes the same value may store it
        def lease_to_fill = @beside ? nil : @lease

        # A caller that joined with another lineage may have read after an invalidation that the leader's acquire
        # preceded. It accepts the value of a block that begins after it joined, but no value or lease that the acquire
        # returned.
        #
        # @param lineage [String, nil] the lineage that the caller's read has found
        # @return [Boolean] whether the flight has this lineage
        def shows?(lineage) = !@lease.nil? && @lease.lineage == lineage

        # @return [Boolean] whether the flight has not landed and belongs to this process
        def live? = @outcome.nil? && @process == Forks.current

        # Stores the block's value over the value that the block itself has written under the key. Rails' own stores do
        # the same, because the block returns after its write.
        #
        # @param guard [Guard]
        # @param bytes [String]
        # @param ttl [Numeric, nil] seconds
        # @return [Boolean, nil] whether the value is stored
        def overwrite(guard, bytes, ttl)
          return false unless @rewritten
          guard.call(:write_entry, @key) do
            present, token = @backend.get_with_token(@key)
            next false unless present
            written = @rewritten.is_a?(Integer) ? Counter.parse(present) : present
            written == @rewritten && @backend.compare_and_set(@key, bytes, token, ttl)
          end
        end

        # Records the lease and wakes the followers, which may return the lease's stale value.
        #
        # @param lease [Leases::Lease, nil] nil if the block runs without a lease: then no further caller may join
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

        # Lands the flight if its leader is gone. Called under the lock.
        #
        # @return [Boolean] whether the leader is gone
        def desert
          return @outcome.equal?(GONE) if @outcome
          return false if @relief&.live? || !@leader.gone?
          @outcome = GONE
          @landed&.broadcast
          true
        end

        # Records the lease and the beginning of the block, for the usual miss: it needs no lock if nobody follows. A
        # follower counts itself before it reads the lease, and holds the lock until it sleeps. So the follower reads
        # the lease, or this method finds the follower and wakes it.
        #
        # @param lease [Leases::Lease]
        # @return [void]
        def begin(lease)
          @lease = lease
          @running = true
          LOCK.synchronize { @landed&.broadcast } if @followers.positive?
        end

        # Ends the joining of further callers. Called under the lock.
        #
        # @param landed [Boolean] whether the block has returned a value
        # @return [Boolean] whether a follower waits for the value; if not, this method has landed the flight
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

        # Lands with the block's error, if a follower waits. An error that was raised into the block from outside
        # concerns the leader alone; a follower then takes over.
        #
        # @param error [StandardError] the error, inside its `rescue`
        # @return [void]
        def land_error(error)
          land(:error, error) if followed_to_its_end? && !Interruption.of?(error)
        end

        # Lands with the block's value. Followers receive a copy. No further caller may join.
        #
        # @yieldreturn [String, nil] the value's frame
        # @return [void]
        def land_value(value)
          frame = yield if followed_to_its_end?
          frame ? land(:frame, frame) : land(:value, value)
        end

        # Ends the joining of further callers.
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
