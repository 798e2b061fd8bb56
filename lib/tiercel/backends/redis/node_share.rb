# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../clock"
require_relative "deadline"

module Tiercel
  module Backends
    class Redis < Backend
      # What one node of a cluster may take of a call's budget.
      #
      # A call may ask several nodes, one after the other. While others are still to be asked, each gets half of
      # what is left, so that one that hangs leaves the others enough time to answer.
      module NodeShare
        VARIABLE = :tiercel_redis_commands_left
        # For a call that first has to ask for the cluster's layout: nobody knows how many commands that takes.
        UNKNOWN = Float::INFINITY

        # Tells what the call that begins on this thread has to send.
        #
        # @param commands [Integer, Float] how many, over all nodes
        # @return [void]
        def self.expect(commands)
          Thread.current[VARIABLE] = commands
        end

        # Runs the block, which talks to one node, with that node's share of the time.
        #
        # @param commands [Integer] how many of the call's commands the block sends
        # @return [Object] the block's value
        def self.of(commands)
          thread = Thread.current
          left = thread[VARIABLE] -= commands if thread[VARIABLE]
          whole = thread[Deadline::VARIABLE]
          return yield unless whole && left&.positive?
          begin
            now = Clock.monotonic
            Deadline.set(now + ((whole - now) / 2))
            yield
          ensure
            Deadline.set(whole)
          end
        end

        # For one of {Deadline}'s drivers.
        module Driver
          def initialize(...) = NodeShare.of(0) { super }

          def call(command, timeout) = NodeShare.of(1) { super }

          # What redis-cluster-client adds to the connections of redis-client.
          def call_pipelined_aware_of_redirection(commands, timeouts, exception:) = NodeShare.of(commands.size) { super }
        end

        # @param driver [Class] of {Deadline.driver}
        # @return [Class]
        def self.driver(driver)
          @drivers ||= {}
          @drivers[driver] ||= Class.new(driver) { prepend Driver }
        end
      end
    end
  end
end
