# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../clock"
require_relative "../../forks"

module Tiercel
  module Backends
    class Redis < Backend
      # Ends calls of hiredis that are past their deadline. Its timeouts are for each wait, so a server that sends a
      # byte now and then would hold a caller for good. A thread looks at the connections that are in use, and leaves
      # those that are late no time for another wait. It sleeps while nobody asks Redis anything.
      module ReplyWatch
        # Seconds between two looks, and looks without a call until the thread sleeps.
        PAUSE = 0.05
        IDLE_LOOKS = 40
        # Seconds that a late connection may wait: hiredis counts whole microseconds, and takes 0 for no limit.
        NO_TIME = 0.000_01
        private_constant :PAUSE, :IDLE_LOOKS, :NO_TIME

        @start = Mutex.new

        class << self
          # @param connection [RedisClient::HiredisConnection]
          # @param deadline [Float] of {Clock.monotonic}
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

          # A child has none of its parent's calls, nor its thread.
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

          # A caller adds its call, then looks whether the thread is awake; the thread does it the other way round. So
          # one of them sees the other.
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

          # Where the call ends at this moment, the connection's next one sets its own time.
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
