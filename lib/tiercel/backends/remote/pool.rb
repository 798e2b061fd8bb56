# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../forks"

module Tiercel
  module Backends
    # The common part of the backends over a network.
    module Remote
      # The connections of one backend to one server, last used first; who has
      # to wait for one is served in the order of coming.
      #
      # It is on the way of every call, so it costs 0.3 us where the gem
      # connection_pool costs 2 us, whose waiters are overtaken besides
      # (adr/006): taking and giving back are single Array operations, which are
      # atomic in CRuby; the lock is for those who have to wait.
      #
      # Its connections connect when they are used, not when they are built. A connection
      # answers to `clean?` (no reply is outstanding) and `close`. One that
      # comes back unclean (its call was cut short by an error, Timeout or
      # Thread#kill) is closed, so no reply reaches another caller.
      #
      # A forked child begins with no connections; those of its parent are
      # dropped without a word to the server.
      class Pool
        # No connection came free in time. A backend makes a {PoolExhausted} of it.
        class Exhausted < StandardError; end

        # Connections kept where their number has no limit.
        UNLIMITED_IDLE = 5
        # For Thread.handle_interrupt: what another thread raises here (Timeout, Thread#kill) comes after the block.
        LATER = { Object => :never }.freeze
        WHERE_IT_WAITS = { Object => :on_blocking }.freeze
        private_constant :LATER, :WHERE_IT_WAITS

        # @return [Integer, nil] most connections, nil for no limit
        attr_reader :size

        # @param size [Integer, nil] most connections, nil for no limit
        # @param timeout [Numeric] seconds to wait for a free one, never beyond a call's deadline
        # @yieldreturn [#clean?, #close] a new connection; must not block
        def initialize(size:, timeout:, &create)
          @size = size
          @timeout = timeout
          @create = create
          start
        end

        # Lends a connection for the block.
        #
        # @param deadline [Float] of {Clock.monotonic}
        # @param wait [Boolean] whether to wait for one; a caller that holds a connection of another pool must not,
        #   or two of them could wait for each other
        # @yieldparam connection [Object]
        # @return [Object] the block's value
        # @raise [Exhausted] if none came free in time
        def with(deadline, wait: true)
          start unless Forks.current?(@process)
          connection = nil
          era = @era
          begin
            # Nothing lies between taking and remembering, nor between the end and the mask, where CRuby looks for
            # interrupts: neither a branch nor the return of a method.
            connection = @idle.pop if @waiters.empty?
            unless connection
              Thread.handle_interrupt(WHERE_IT_WAITS) { connection = wait_for_one(wait ? deadline : 0) }
            end
            yield connection
          ensure
            Thread.handle_interrupt(LATER) { give_back(connection, era) }
          end
        end

        # Has each connection closed before it is used again: a call that begins from now on has a new one.
        #
        # @return [void]
        def renew
          start unless Forks.current?(@process)
          @era += 1
          close
        end

        # Closes the connections that nobody uses. The next call opens new ones.
        #
        # @return [void]
        def close
          start unless Forks.current?(@process)
          while (connection = @idle.pop)
            discard(connection)
          end
        end

        # @return [Integer] connections that exist, in use or not
        def count = @count

        private

        def start
          @idle = []
          @era = 0
          @count = 0
          @waiters = []
          @lock = Mutex.new
          @process = Forks.current
        end

        # A waiter takes its place in the queue before anybody looks for a connection for it, and who gives one back
        # looks for waiters after that: one of them sees the other.
        def wait_for_one(deadline)
          place = Thread::Queue.new
          @lock.synchronize { @waiters.push(place) }
          serve
          now = Clock.monotonic
          seconds = [[now + @timeout, deadline].min - now, 0].max
          connection = place.pop(timeout: seconds) || leave(place) || exhausted
        ensure
          # Where the wait was interrupted, what was handed over meanwhile goes to the next.
          Thread.handle_interrupt(LATER) { give_back(leave(place)) } unless connection
        end

        def leave(place)
          @lock.synchronize { @waiters.delete(place) }
          place.pop(true) unless place.empty?
        end

        # First come, first served.
        def serve
          @lock.synchronize do
            while !@waiters.empty? && (connection = @idle.pop || create)
              @waiters.shift.push(connection)
            end
          end
        end

        def create
          return if @size && @count >= @size
          connection = @create.call
          @count += 1
          connection
        end

        # One that had to be closed goes to the other end: the next caller gets one that works, if any does.
        def give_back(connection, era = @era)
          return unless connection
          clean = connection.clean? && era == @era
          connection.close unless clean
        ensure
          keep(connection, clean) if connection
        end

        def keep(connection, clean)
          return discard(connection) if @size.nil? && @idle.size >= UNLIMITED_IDLE
          clean ? @idle.push(connection) : @idle.unshift(connection)
          serve unless @waiters.empty?
        end

        def discard(connection)
          @lock.synchronize { @count -= 1 }
          connection.close
        end

        def exhausted
          raise Exhausted, "none of #{@size} connections came free in time; pool: { size:, timeout: } sets how " \
                           "many there are"
        end
      end
    end
  end
end
