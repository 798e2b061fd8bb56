# frozen_string_literal: true

require_relative "../../clock"

module Tiercel
  module Backends
    # What the backends over a network have in common.
    module Remote
      # The connections of one backend to one server, last used first.
      #
      # It is on the way of every call, so it costs 0.1 us where the gem
      # connection_pool costs 2 us (adr/006): taking and giving back are single
      # Array operations, which are atomic in CRuby; the lock is for those who
      # have to wait.
      #
      # What it keeps connects when it is used, not when it is built, and
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
        # @yieldparam connection [Object]
        # @return [Object] the block's value
        # @raise [Exhausted] if none came free in time
        def with(deadline)
          start unless Process.pid == @pid
          connection = nil
          begin
            connection = @idle.pop
            # Masked, so that no Thread#kill comes between taking and remembering.
            Thread.handle_interrupt(Object => :on_blocking) { connection = wait_for_one(deadline) } unless connection
            yield connection
          ensure
            give_back(connection) if connection
          end
        end

        # Closes the connections that nobody uses. The next call opens new ones.
        #
        # @return [void]
        def close
          start unless Process.pid == @pid
          while (connection = @idle.pop)
            discard(connection)
          end
        end

        # @return [Integer] connections that exist, in use or not
        def count = @count

        private

        def start
          @idle = []
          @count = 0
          @waiting = 0
          @lock = Mutex.new
          @given_back = ConditionVariable.new
          @pid = Process.pid
        end

        # A waiter counts itself before it looks, and who gives back looks for
        # waiters after it gave: one of them sees the other.
        def wait_for_one(deadline)
          give_up_at = nil
          @lock.synchronize do
            @waiting += 1
            until (connection = @idle.pop || create)
              now = Clock.monotonic
              give_up_at ||= [now + @timeout, deadline].min
              exhausted if now >= give_up_at
              @given_back.wait(@lock, give_up_at - now)
            end
            connection
          ensure
            @waiting -= 1
          end
        end

        def create
          return if @size && @count >= @size
          connection = @create.call
          @count += 1
          connection
        end

        # One that had to be closed goes to the other end: the next caller gets one that works, if any does.
        def give_back(connection)
          clean = connection.clean?
          connection.close unless clean
        ensure
          if @size.nil? && @idle.size >= UNLIMITED_IDLE
            discard(connection)
          else
            clean ? @idle.push(connection) : @idle.unshift(connection)
            @lock.synchronize { @given_back.signal } if @waiting.positive?
          end
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
