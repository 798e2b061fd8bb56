# frozen_string_literal: true

require_relative "../../forks"
require_relative "flight"

module Tiercel
  module Store
    module Fetch
      # The current flights of one store in this process. Each caller that computes, or waits for another process, has
      # at most one flight. So there are never more flights than threads and fibers in `fetch`.
      #
      # Code inside a flight's block holds the flight. Fiber storage contains the held flights, and threads, fibers and
      # enumerators inherit it. A fetch in a thread that a block has started is therefore a fetch inside that block.
      # @private
      class Flights
        LOCK = Flight::LOCK
        HELD = :tiercel_flights
        NONE = [].freeze
        # Seconds between two checks of the leaders.
        LOOK = 1.0
        # If this many blocks run at once, the next one first checks the leaders.
        MANY = 16
        private_constant :LOCK, :HELD, :NONE, :LOOK, :MANY

        class << self
          # @return [Array<Flight>]
          def held
            held = Fiber[HELD] or return NONE
            held.select(&:live?)
          end

          # @return [Boolean] whether the code runs inside a block; in a forked child, perhaps a block of the parent,
          #   which may be waiting for the child
          def inside_block? = Fiber[HELD]&.any? { |flight| !flight.landed? } || false

          # @param backend [Backend]
          # @yieldparam flight [Flight] a held flight of this key
          # @return [void]
          def each_held(backend, key)
            Fiber[HELD]&.each { |flight| yield flight if flight.of?(backend, key) && flight.live? }
          end

          # @param own [Array<Flight>] frozen
          # @yieldparam outermost [Boolean] whether the code holds no other flight
          # @return [Object] the block's value
          def hold(own)
            before = Fiber[HELD]
            Fiber[HELD] = before ? [*held, *own].freeze : own
            yield before.nil?
          ensure
            Fiber[HELD] = before
          end
        end

        def initialize
          @process = Forks.current
          @look_at = 0.0
          forget_all
        end

        # @return [Boolean] whether no block is running in this process
        def idle? = @computing.zero? || (@process != Forks.current && forgotten?) || deserted?

        # @return [Integer] number of current flights
        def size
          LOCK.synchronize do
            forget_parents
            (@newest.values | @of_lineage.values).count(&:live?)
          end
        end

        # Joins another caller's flight if the caller may, or begins the caller's own flight. The caller creates its
        # flight before this call, so that it can {#leave} the flight if its thread is killed here.
        #
        # @param own [Flight]
        # @param lineage [String, nil] the lineage that the caller's read has found
        # @param alone [Boolean] whether to begin the caller's flight only if the key has no other flight
        # @param lease [Leases::Lease, nil] a new lease ({Leases#own}): the caller's flight is counted at once, and
        #   {#begin} then needs no lock. Other callers find its lineage only after the lease is acquired
        # @return [Flight] the caller's own flight if the caller leads
        def board(own, lineage, alone: false, lease: nil)
          LOCK.synchronize do
            forget_parents
            key = own.key
            flight = @newest[key]
            next flight if flight && (alone || flight.admits?(own.wanted, lineage))
            count(own, lease.lineage) if lease
            @newest[key] = own
          end
        end

        # Records that the block begins: {Flight#learn} and {#computing} in one step. {#finish} ends the block, or
        # {#leave} if the thread is killed.
        #
        # @param flight [Flight]
        # @param lease [Leases::Lease] a lease that begins its lineage
        # @return [void]
        def begin(flight, lease)
          LOCK.synchronize { count(flight, lease.lineage) } unless flight.counted
          flight.begin(lease)
        end

        # Undoes the early count of {#board}, because the lease was not granted as expected.
        #
        # @param flight [Flight]
        # @return [void]
        def discount(flight)
          LOCK.synchronize { uncount(flight) }
        end

        # @param flight [Flight]
        # @param landed [Boolean] whether the block has returned a value
        # @return [Boolean] whether a follower waits for the value
        def finish(flight, landed)
          LOCK.synchronize do
            uncount(flight)
            newest = @newest.delete(flight.key)
            @newest[flight.key] = newest unless newest.nil? || newest.equal?(flight)
            flight.close(landed)
          end
        end

        # @param flight [Flight] a flight that has found another caller's lease
        # @param lineage [String]
        # @return [Flight, nil] another flight of this process that computes this lineage, or waits for it
        def earlier(flight, lineage)
          LOCK.synchronize { @of_lineage[lineage].then { |other| other unless other.equal?(flight) } }
        end

        # @param flight [Flight] a flight that has found a lease for another version
        # @param lineage [String] the lease's lineage
        # @return [Flight, nil] another flight of this process that computes the same value while that lease stands
        def beside(flight, lineage)
          LOCK.synchronize { @of_lineage[[lineage, flight.wanted]].then { |other| other unless other.equal?(flight) } }
        end

        # @param flight [Flight]
        # @return [Boolean] whether a block of this process is computing the same value
        def computing?(flight)
          LOCK.synchronize do
            @of_lineage.each_value.any? do |other|
              other.running? && other.live? && other.of?(flight.backend, flight.key) && other.wanted == flight.wanted
            end
          end
        end

        # Waits for another process. One caller waits for all callers of this process.
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
          lineage = [flight.beside.lineage, flight.wanted].freeze if flight.beside
          LOCK.synchronize { count(flight, lineage) }
          yield
        ensure
          LOCK.synchronize { uncount(flight) }
        end

        # @param flight [Flight] a flight that no further caller may join
        # @return [void]
        def leave(flight)
          LOCK.synchronize do
            uncount(flight)
            @newest.delete(flight.key) if @newest[flight.key].equal?(flight)
          end
          flight.land(:again)
        end

        private

        # Whether all counted blocks belong to the parent: a forked child does not have the parent's threads.
        def forgotten?
          LOCK.synchronize { forget_parents }
          @computing.zero?
        end

        # Checks for leaders that are gone, at most once in {LOOK} seconds. A trap handler that writes may call this, so
        # it waits for no lock.
        #
        # @return [Boolean] whether no other block is running
        def deserted?
          return false if Clock.monotonic < @look_at
          Thread.handle_interrupt(Object => :never) do
            next unless LOCK.try_lock
            begin
              forget_deserted
            ensure
              LOCK.unlock
            end
          end
          @computing.zero?
        end

        # Keeps the lineage of a leader that is gone until its lease lapses, so that a caller that finds the lease takes
        # over at once.
        def forget_deserted
          @look_at = Clock.monotonic + LOOK
          (@of_lineage.values | @newest.values).each do |flight|
            next unless flight.desert
            uncount(flight)
            @newest.delete(flight.key) if @newest[flight.key].equal?(flight)
            lease = flight.lease_to_fill or next
            lease.lapses_at > @look_at ? @of_lineage[lease.lineage] ||= flight : @of_lineage.delete(lease.lineage)
          end
        end

        def count(flight, lineage)
          forget_deserted if @computing >= MANY && Clock.monotonic >= @look_at
          @computing += 1
          flight.counted = lineage && !@of_lineage.key?(lineage) ? lineage : flight
          @of_lineage[flight.counted] = flight
        end

        # Safe to call twice: a caller that is killed in {#finish} or {#computing} calls it again in {#leave}. A child
        # that was forked in a block continues the block, but does not count it.
        def uncount(flight)
          lineage = flight.counted or return
          flight.counted = false
          @computing -= 1 if @computing.positive?
          @of_lineage.delete(lineage) if @of_lineage[lineage].equal?(flight)
        end

        # Forgets the parent's flights, because a child process has none of the threads that lead them.
        def forget_parents
          return if @process == Forks.current
          @process = Forks.current
          forget_all
        end

        def forget_all
          @newest = {}
          @of_lineage = {}
          @computing = 0
        end
      end
    end
  end
end
