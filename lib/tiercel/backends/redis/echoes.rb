# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../clock"

module Tiercel
  module Backends
    class Redis < Backend
      # The heartbeats that were sent to all masters of a cluster, and how far they have come: each master has told of
      # one, then a moment passes, then each is asked who the masters are, and all have answered.
      #
      # Several threads tell it what they have read.
      class Echoes
        # @param nodes [Array<Object>]
        def initialize(nodes)
          @heard = nodes.to_h { |node| [node, 0] }
          @beats = {} # key => [number, when it was sent]; those that are done are gone
          @number = 0
          @lock = Mutex.new
        end

        # @param key [String]
        # @return [void]
        def sent(key) = @lock.synchronize { @beats[key] = [@number += 1, Clock.monotonic] }

        # A node has told of this key; whether it is a heartbeat is found here.
        #
        # @return [void]
        def heard(node, key)
          @lock.synchronize do
            number, = @beats[key]
            @heard[node] = number if number && number > @heard[node]
            choose
          end
        end

        # @param pause [Numeric] seconds since the last node has told of a heartbeat
        # @return [Boolean] whether it is time to ask all nodes; once for each heartbeat
        def ask?(pause)
          @lock.synchronize do
            next false if @chosen.nil? || @answers || Clock.monotonic - @chosen_at < pause
            @answers = {}
            true
          end
        end

        # @return [String, nil] the heartbeat's key, once all nodes have answered
        def answered(node)
          @lock.synchronize do
            next if @answers.nil?
            @answers[node] = true
            done if @answers.size == @heard.size
          end
        end

        # @param seconds [Numeric]
        # @return [Boolean] whether a heartbeat has not been done for so long
        def overdue?(seconds)
          @lock.synchronize do
            _, (_, at) = @beats.first
            at ? Clock.monotonic - at > seconds : false
          end
        end

        private

        # One at a time: whatever else comes meanwhile has its turn after it.
        def choose
          return if @chosen
          number = @heard.each_value.min
          @chosen, = @beats.find { |_, (one, _)| one == number }
          @chosen_at = Clock.monotonic if @chosen
        end

        def done
          key = @chosen
          number, = @beats[key]
          @beats.delete_if { |_, (one, _)| one <= number }
          @chosen = @answers = nil
          choose
          key
        end
      end
    end
  end
end
