# frozen_string_literal: true

require_relative "flight"

module Tiercel
  module Store
    module Fetch
      # The flights of one store that are under way in this process: at most one for each caller that computes or waits
      # for another process, so never more than there are threads and fibers in `fetch`.
      #
      # @private
      class Flights
        LOCK = Flight::LOCK
        private_constant :LOCK

        def initialize
          @pid = Process.pid
          @newest = {}
          @of_lineage = {}
          @computing = 0
        end

        # @return [Boolean] whether no block is running in this process
        def idle? = @computing.zero? || @pid != Process.pid && forgotten?

        # @return [Integer] how many are under way
        def size
          LOCK.synchronize do
            forget_parents
            (@newest.values | @of_lineage.values).size
          end
        end

        # Boards a flight that may be joined, or begins the caller's own, which the caller has had before: whoever is
        # killed in here can {#leave} it.
        #
        # @param own [Flight]
        # @param lineage [String, nil] that the caller's read has shown
        # @return [Flight] the caller's own where the caller leads
        def board(own, lineage)
          LOCK.synchronize do
            forget_parents
            flight = @newest[own.key]
            flight&.admits?(own.wanted, lineage) ? flight : @newest[own.key] = own
          end
        end

        # @param flight [Flight] a new one
        # @param alone [Boolean] whether no other flight of the key may be under way
        # @return [Boolean] whether its caller leads it; false where there is another that may be joined
        def lead(flight, alone: false)
          LOCK.synchronize do
            forget_parents
            key = flight.key
            other = @newest[key]
            next false if other && (alone || other.admits?(flight.wanted, nil))
            @newest[key] = flight
            true
          end
        end

        # The lease is there, and the block begins; {#finish} is its end, or {#leave} where the caller is killed on the
        # way there. What {Flight#learn} and {#computing} do.
        #
        # @param flight [Flight]
        # @param lease [Leases::Lease] that begins its lineage
        # @return [true]
        def begin(flight, lease)
          LOCK.synchronize do
            flight.begin(lease)
            @computing += 1
            flight.counted = lease.lineage
            @of_lineage[lease.lineage] = flight
            true
          end
        end

        # @param flight [Flight]
        # @param landed [Boolean] whether the block has given a value
        # @return [Boolean] whether somebody waits for that value
        def finish(flight, landed)
          LOCK.synchronize do
            uncount(flight)
            newest = @newest.delete(flight.key)
            @newest[flight.key] = newest unless newest.nil? || newest.equal?(flight)
            flight.close(landed)
          end
        end

        # @param flight [Flight] that has met a lease
        # @param lineage [String]
        # @return [Flight, nil] another one of this process that computes it, or waits for it
        def earlier(flight, lineage)
          LOCK.synchronize { @of_lineage[lineage].then { |other| other unless other.equal?(flight) } }
        end

        # Waits for another process: once for all callers of this one.
        #
        # @param flight [Flight]
        # @param lineage [String]
        # @return [Object] the block's value
        def waiting(flight, lineage)
          LOCK.synchronize { @of_lineage[lineage] ||= flight }
          yield
        ensure
          LOCK.synchronize { @of_lineage.delete(lineage) if @of_lineage[lineage].equal?(flight) }
        end

        # Runs the block of a flight.
        #
        # @param lineage [String, nil]
        # @return [Object] the block's value
        def computing(flight, lineage)
          LOCK.synchronize do
            @computing += 1
            flight.counted = lineage || true
            @of_lineage[lineage] ||= flight if lineage
          end
          yield
        ensure
          LOCK.synchronize { uncount(flight) }
        end

        # @param flight [Flight] that nobody is to board any more
        # @return [void]
        def leave(flight)
          LOCK.synchronize do
            uncount(flight)
            @newest.delete(flight.key) if @newest[flight.key].equal?(flight)
          end
          flight.land(:again)
        end

        private

        # A child that was forked while another thread's block ran has no such thread.
        def forgotten?
          LOCK.synchronize { forget_parents }
          @computing.zero?
        end

        # A caller that is killed in {#finish} or {#computing} comes by here again, in {#leave}. A block that a child
        # was forked in goes on there, and ends, without being counted.
        def uncount(flight)
          lineage = flight.counted or return
          flight.counted = false
          @computing -= 1 if @computing.positive?
          @of_lineage.delete(lineage) if @of_lineage[lineage].equal?(flight)
        end

        # Those who led the flights of a parent process are not here.
        def forget_parents
          return if @pid == Process.pid
          @pid = Process.pid
          @newest = {}
          @of_lineage = {}
          @computing = 0
        end
      end
    end
  end
end
