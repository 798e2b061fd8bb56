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
        private_constant :PAUSE, :IDLE_LOOKS, :NO_TIME

        @start = Mutex.new

        class << self
          # @param connection [RedisClient::HiredisConnection]
          # @param deadline [Float] a time of {Clock.monotonic}
          # @return [void]
          def begin(connection, deadline)
            renew unless Forks.current?(@process)
            @deadlines[connection] = deadline
            @called = true
            wake unless @awake
          end

          # @param connection [RedisClient::HiredisConnection]
          # @return [void]
          def end(connection) = @deadlines.delete(connection)

          private

          # A forked child inherits neither the calls nor the thread.
          def renew
            @deadlines = {}.compare_by_identity
            @bell = Thread::Queue.new
            @awake = @thread = nil
            @process = Forks.current
          end

          def wake
            @awake = true
            @bell << true
            return if @thread&.alive? || !@start.try_lock
            begin
              @thread = Fiber.new(storage: {}) { Thread.new { run } }.resume
              @thread.name = "tiercel deadlines"
              @thread.thread_variable_set(:fork_safe, true) # a child starts its own
            ensure
              @start.unlock
            end
          end

          # A caller adds its call and then checks whether the thread is awake. The thread marks itself asleep and
          # then checks for calls. So at least one of them notices the other.
          def run
            loop do
              @bell.pop
              look_for_a_while
              @awake = false
              wake unless @deadlines.empty?
            end
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

          # If the call has just ended, the connection's next call sets its own timeout.
          def look
            now = Clock.monotonic
            @deadlines.to_a.each do |connection, deadline|
              next unless deadline < now && @deadlines[connection].equal?(deadline)
              connection.read_timeout = NO_TIME
              connection.write_timeout = NO_TIME
            end
          end
        end
      end
    end
  end
end
