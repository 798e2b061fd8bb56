# frozen_string_literal: true

module Tiercel
  class Fetch
    # The computations of one store in this process, and the callers that follow them: single flight.
    #
    # A caller never joins a computation by its key alone, because the computation may have begun before a delete that
    # the caller's read has followed. A caller asks for the lease first. If another caller of this process holds that
    # lease, or waits for it, the caller follows that caller's {Miss}. So the flights are known by the lineages of their
    # leases, and every delete ends a lineage. Only while the backend does not answer, its callers share a block by the
    # key.
    #
    # One lock guards all flights of the process, so that a cycle of waits is found even across stores. Each thread
    # holds the lock only for a moment.
    #
    # @private
    class Flights
      LOCK = Mutex.new
      # The fiber storage's key of the miss whose block runs, the innermost one. Threads, fibers and enumerators inherit
      # it, so a fetch in a thread that a block has started is a fetch inside that block.
      HELD = :tiercel_fetch_miss
      # Interval in seconds between two checks by a follower: whether its leader's thread lives, and whether other
      # threads need a database connection that the follower keeps.
      LOOK = 1.0
      # From this many flights on, those with long-lapsed leases are dropped. If a fiber is suspended in its block and
      # then abandoned, Ruby runs no `ensure`, so nobody else removes its flight.
      MANY = 256
      AGAIN = [:again, nil].freeze
      ABANDONED = [:abandoned, nil].freeze
      private_constant :LOOK, :MANY, :AGAIN, :ABANDONED

      class << self
        # Runs a block as the miss's own.
        #
        # @yieldparam outermost [Boolean] whether no other block of a `fetch` encloses this one
        # @return [Object] the block's value
        def within(miss, others = nil)
          outer = Fiber[HELD]
          RUNNING.count += 1
          begin
            miss.enter(others, outer)
            Fiber[HELD] = miss
            yield outer.nil?
          ensure
            Fiber[HELD] = outer
            RUNNING.count -= 1
          end
        end

        # @yieldparam miss [Miss] each miss of this process whose block the code is in
        # @return [void]
        def each_held
          held = Fiber[HELD]
          while held
            yield held if held.ours?
            held.others&.each { |miss| yield miss if miss.ours? && !miss.equal?(held) }
            held = held.outer
          end
        end

        # @return [Array<Miss>]
        def held = [].tap { |all| each_held { |miss| all << miss if miss.live? } }

        # @return [Boolean] whether other threads wait for a database connection that this thread keeps. The block that
        #   this thread waits for may run in one of them
        def starving_others? = held_pools.any? { |pool| pool.stat[:waiting].positive? }

        # @return [Boolean] whether this thread is inside a transaction. The block that it waits for may need a row that
        #   the transaction has locked
        def in_transaction?
          defined?(ActiveRecord) && ActiveRecord.respond_to?(:all_open_transactions) &&
            ActiveRecord.all_open_transactions.any?
        end

        private

        def held_pools
          return [] unless defined?(ActiveRecord) && ActiveRecord.autoload?(:Base).nil? && defined?(ActiveRecord::Base)
          ActiveRecord::Base.connection_handler.connection_pool_list(:all).select(&:active_connection?)
        end
      end

      def initialize
        @running = {}
        @many = MANY
        @process = Forks.current
      end

      # @return [Integer] number of running and waiting computations
      def size = LOCK.synchronize { @running.count { |_, miss| miss.live? } }

      # @return [Integer] number of callers of this process that wait for a computation
      def followers
        LOCK.synchronize { @running.values.uniq.sum { |miss| miss.live? ? miss.followers : 0 } }
      end
      # Registers a miss under a lineage, unless another one is registered there.
      #
      # If the registered miss is deserted, the new miss replaces it as its heir: the lease still exists, and no other
      # caller will fill it.
      #
      # @param name [Object] a lineage; or a lineage and a version, for a block that runs while another version is
      #   leased
      # @return [Miss] the registered miss
      def register(miss, name)
        LOCK.synchronize do
          forget_parents unless @process == Forks.current
          unregister(miss) if miss.registered
          other = @running[name]
          if other
            next other if other.live? && !other.deserted?
            miss.heir = other.live?
          end
          forget_lapsed if @running.size >= @many
          miss.registered = name
          @running[name] = miss
        end
      end

      # Registers a miss under its key too, while the backend does not answer.
      #
      # @return [Miss] the registered miss
      def register_key(miss)
        LOCK.synchronize do
          name = [miss.key, miss.wanted].freeze
          other = @running[name]
          next other if other && other.live? && !other.deserted?
          miss.registered_key = name
          @running[name] = miss
        end
      end

      # @return [void]
      def forget(miss) = LOCK.synchronize { unregister(miss) }

      # Passes an outcome on to the followers. No caller can join from now on.
      #
      # - `:frame`: bytes of the store's own coder; `:found`: an entry's bytes from the backend; `:value`: an object
      #   that cannot be dumped
      # - `:error`: the error that the block raised
      #
      # @return [void]
      def land(miss, kind, content)
        LOCK.synchronize do
          unregister(miss)
          outcome = [kind, content]
          [miss, (miss.relieves unless kind == :error)].each do |flight|
            next if flight.nil? || flight.outcome
            flight.outcome = outcome
            flight.landed&.broadcast
          end
        end
      end

      # Closes the flight to new followers, after its block has returned.
      #
      # @return [Boolean] whether a follower waits for the value; if not, this method has recorded an outcome already
      def close(miss)
        LOCK.synchronize do
          unregister(miss)
          next true if miss.followers.positive? || miss.relieves
          miss.outcome ||= AGAIN
          false
        end
      end

      # Ends a caller's flight, with or without a value. Followers of a flight without an outcome begin again.
      #
      # @param abandoned [Boolean] whether it left its block by throw, break, a killed thread or Timeout
      # @return [void]
      def leave(miss, abandoned:)
        LOCK.synchronize do
          unregister(miss)
          next if miss.outcome
          miss.outcome = abandoned ? ABANDONED : AGAIN
          miss.landed&.broadcast
        end
      end

      # Waits until another flight lands.
      #
      # @yieldreturn [Float] the end of the wait, a time of {Clock.monotonic}
      # @return [Array(Symbol, Object), Symbol] the outcome; or
      #
      #   - `:cycle`: the caller must not wait. The flight waits for this caller; or its leader cannot continue until
      #     this caller does; or other threads wait for a database connection that this caller keeps
      #   - `:deserted`: its leader will never return
      #   - `:deadline`
      def await(miss, other)
        waiters = [miss, *Flights.held]
        look_at = Clock.monotonic + LOOK
        LOCK.synchronize do
          return :cycle if other.outcome.nil? && (other.stuck_behind_caller? || reaches?(other, waiters))
          other.relief_at ||= Clock.monotonic
          begin
            other.followers += 1
            waiters.each { |waiter| (waiter.following ||= []) << other }
            until other.outcome
              return :deserted if other.deserted?
              left = yield - Clock.monotonic
              return :deadline if left <= 0
              if look_at <= Clock.monotonic
                return :cycle if Flights.starving_others?
                look_at += LOOK
              end
              (other.landed ||= ConditionVariable.new).wait(LOCK, [left, LOOK].min)
            end
          ensure
            other.followers -= 1
            waiters.each { |waiter| drop_one(waiter.following, other) }
          end
          other.outcome
        end
      end

      # If the leader takes too long, lets one follower run the block as well, and one more after each further interval.
      # All followers receive the first value.
      #
      # @param after [Float] seconds after which a block takes too long
      # @return [Float, nil] the time of {Clock.monotonic} until which the caller keeps waiting; nil if the caller
      #   should run its own block
      def relieve(miss, other, after)
        LOCK.synchronize do
          now = Clock.monotonic
          due = other.outcome ? now : other.relief_at + after
          next due if other.outcome || due > now
          other.relief_at = now
          miss.relieves = other
          nil
        end
      end

      private

      # Safe to call twice: a caller that is killed calls it again when it leaves.
      def unregister(miss)
        name = miss.registered
        if name
          miss.registered = nil
          @running.delete(name) if @running[name].equal?(miss)
        end
        name = miss.registered_key or return
        miss.registered_key = nil
        @running.delete(name) if @running[name].equal?(miss)
      end

      # Returns whether a flight waits for one of the waiters, directly or through other flights.
      def reaches?(flight, waiters, seen = [])
        return true if waiters.any? { |waiter| waiter.equal?(flight) }
        return false if seen.any? { |other| other.equal?(flight) }
        seen << flight
        flight.following&.any? { |next_one| reaches?(next_one, waiters, seen) } || false
      end

      def drop_one(list, item)
        at = list&.index { |other| other.equal?(item) }
        list.delete_at(at) if at
      end

      def forget_lapsed
        longest_ago = Clock.monotonic - Leases::OUTLIVES
        @running.delete_if { |_, miss| miss.flying && miss.flying.lapses_at < longest_ago }
        @many = [MANY, @running.size * 2].max
      end

      # A child process has none of the threads that lead its parent's flights.
      def forget_parents
        @process = Forks.current
        @running = {}
      end
    end
  end
end
