# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../clock"
require_relative "../../forks"

module Tiercel
  module Backends
    class Redis < Backend
      # Ends calls of hiredis after their deadline. hiredis' timeouts apply to each wait, so a server that sends a
      # byte now and then could block a caller forever. A thread checks the connections in use and sets a minimal
      # timeout on late ones. The thread sleeps while there are no calls.
      module ReplyWatch
        # Seconds between two checks, and the number of checks without a call before the thread sleeps.
        PAUSE = 0.05
        IDLE_LOOKS = 40
        # The timeout in seconds for a late connection: hiredis counts whole microseconds and treats 0 as no limit.
        NO_TIME = 0.000_01
        private_constant :PAUSE, :IDLE_LOOKS

        @start = Mutex.new

        class << self
          # Call this before a process' first call of a connection. A forked child opens its own connections.
          #
          # @param connection [HiredisSockets]
          # @return [void]
          def add(connection)
            @start.synchronize { renew unless Forks.current?(@process) } unless Forks.current?(@process)
            @connections[connection] = true
          end

          # Each call sets this when its connection has its deadline, and then checks {awake}.
          #
          # @return [Boolean] whether there was a call since the thread last checked
          attr_writer :called
          # @return [Boolean, nil] whether the thread checks connections; if not, the caller has to {wake} it
          attr_reader :awake

          # @return [void]
          def wake
            @bell << true
            start unless @thread&.alive?
          end

          private

          # A forked child inherits neither the connections nor the thread.
          def renew
            @connections = ObjectSpace::WeakMap.new
            @bell = Thread::Queue.new
            @awake = @thread = nil
            @process = Forks.current
          end

          # Another caller may have started the thread since the check. An interruption must not leave the lock locked.
          def start
            held = @start.try_lock
            return if !held || @thread&.alive?
            @thread = Fiber.new(storage: {}) { Thread.new { run } }.resume
            @thread.name = "tiercel deadlines"
            @thread.thread_variable_set(:fork_safe, true) # a child starts its own
          ensure
            @start.unlock if held
          end

          # A caller adds its call and then checks whether the thread is awake. The thread marks itself asleep and
          # then checks for calls. So at least one of them notices the other.
          def run
            loop do
              @bell.pop
              @awake = true
              @bell.clear
              look_for_a_while
              @awake = false
              @bell << true if look
            end
          ensure
            @awake = false
          end

          def look_for_a_while
            idle = 0
            while idle < IDLE_LOOKS
              sleep PAUSE
              idle = @called ? 0 : idle + 1
              @called = false
              look
            end
          end

          # Other threads add connections meanwhile, so this uses a copy. The copy is emptied: this thread's stack may
          # hold it during the next sleep, and would keep connections that nobody else has.
          #
          # @return [Boolean] whether there is a call
          def look
            now = Clock.monotonic
            copy = @connections.keys
            copy.count { |connection| watched?(connection, now) }.positive?
          ensure
            copy&.clear
          end

          def watched?(connection, now)
            deadline = connection.watched_until
            connection.expire if deadline && deadline < now
            !deadline.nil?
          end
        end
      end
    end
  end
end
