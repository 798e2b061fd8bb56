# frozen_string_literal: true

require_relative "../../forks"
require_relative "flight"

module Tiercel
  module Store
    module Fetch
      # The flights of one store that are under way in this process: at most one for each caller that computes or waits
      # for another process, so never more than there are threads and fibers in `fetch`.
      #
      # A flight is held while its block runs around the code at hand. Fiber storage keeps the held flights, and
      # threads, fibers and enumerators inherit it: a fetch in a thread of a block is a fetch within that block.
      #
      # @private
      class Flights
        LOCK = Flight::LOCK
        HELD = :tiercel_flights
        NONE = [].freeze
        # Seconds between two looks at the leaders.
        LOOK = 1.0
        # With so many blocks at once, the next one begins with a look.
        MANY = 16
        private_constant :LOCK, :HELD, :NONE, :LOOK, :MANY

        class << self
          # @return [Array<Flight>]
          def held
            held = Fiber[HELD] or return NONE
            held.select(&:live?)
          end

          # @param backend [Backend]
          # @yieldparam flight [Flight] of that key there
          # @return [void]
          def each_held(backend, key)
            Fiber[HELD]&.each { |flight| yield flight if flight.of?(backend, key) && flight.live? }
          end

          # @param own [Array<Flight>] frozen
          # @yieldparam outermost [Boolean] whether no other is held
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
        def idle? = @computing.zero? || (!Forks.current?(@process) && forgotten?) || deserted?

        # @return [Integer] how many are under way
        def size
          LOCK.synchronize do
            forget_parents
            (@newest.values | @of_lineage.values).count(&:live?)
          end
        end

        # Boards a flight that the caller may join, or begins the caller's own. The caller makes its own before this
        # call, so that it can {#leave} it if its thread is killed here.
        #
        # @param own [Flight]
        # @param lineage [String, nil] that the caller's read has shown
        # @param alone [Boolean] whether the caller begins its own only if there is no other flight of the key
        # @return [Flight] the caller's own where the caller leads
        def board(own, lineage, alone: false)
          LOCK.synchronize do
            forget_parents
            flight = @newest[own.key]
            flight && (alone || flight.admits?(own.wanted, lineage)) ? flight : @newest[own.key] = own
          end
        end

        # The block begins, with {Flight#learn} and {#computing} in one step. It ends with {#finish}, or with {#leave}
        # if the thread is killed.
        #
        # @param flight [Flight]
        # @param lease [Leases::Lease] that begins its lineage
        # @return [true]
        def begin(flight, lease)
          LOCK.synchronize do
            flight.begin(lease)
            count(flight, lease.lineage)
            true
          end
        end

        # @param flight [Flight]
        # @param landed [Boolean] whether the block has given a value
        # @return [Boolean] whether a follower waits for that value
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

        # @param flight [Flight] that has met a lease for another version
        # @param lineage [String] of that lease
        # @return [Flight, nil] another one of this process that computes the same beside that lease
        def beside(flight, lineage)
          LOCK.synchronize { @of_lineage[[lineage, flight.wanted]].then { |other| other unless other.equal?(flight) } }
        end

        # @param flight [Flight]
        # @return [Boolean] whether a block of this process runs that computes the same
        def computing?(flight)
          LOCK.synchronize do
            @of_lineage.each_value.any? do |other|
              other.running? && other.live? && other.of?(flight.backend, flight.key) && other.wanted == flight.wanted
            end
          end
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
          lineage = [flight.beside.lineage, flight.wanted].freeze if flight.beside
          LOCK.synchronize { count(flight, lineage) }
          yield
        ensure
          LOCK.synchronize { uncount(flight) }
        end

        # @param flight [Flight] that no further caller may board
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

        # Looks for leaders that are gone, at most once in {LOOK}. A trap handler that writes may call this, so it waits
        # for no lock.
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

        # The lineage of a leader that is gone stays known until its lease lapses: a caller that meets the lease takes
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

        # A caller that is killed in {#finish} or {#computing} calls this again, in {#leave}. A child that was forked in
        # a block goes on with that block, which does not count there.
        def uncount(flight)
          lineage = flight.counted or return
          flight.counted = false
          @computing -= 1 if @computing.positive?
          @of_lineage.delete(lineage) if @of_lineage[lineage].equal?(flight)
        end

        # A child process has none of the threads that lead its parent's flights.
        def forget_parents
          return if Forks.current?(@process)
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
