# frozen_string_literal: true

require_relative "../statistics"

module Tiercel
  module Lab
    module Engine
      # Where the recording of a process begins. A store is not at its pace after a fixed number of calls: it may keep a
      # value only after some reads, the collector comes later, a memo fills. A quick run that recorded from the second
      # slice on reported 1.57 us for a read of 0.37 us.
      module SteadyState
        # Probes that are compared with as many before.
        WINDOW = 6
        # A window that is this much faster than the one before is not the last.
        STEP = 0.05
        # No arm probes longer.
        MOST_SECONDS = 1.0
        # The least time of probes by the medium: short calls in the process get their pace in 0.1 s.
        LEAST_SECONDS = Hash.new(0.0).merge(process: 0.08).freeze
        # The first blocks are warm-up if each of them costs this much more than every later one.
        FALL = 1.15

        module_function

        # Probes until two windows in a row do not fall.
        #
        # @param least_seconds [Float]
        # @yieldreturn [Float] nanoseconds of a call in one more probe
        # @return [Boolean] whether a steady state was reached
        def reach(least_seconds: 0.0, most_seconds: MOST_SECONDS,
                  clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
          started, probes = clock.call, []
          loop do
            probes << yield
            spent = clock.call - started
            return true if spent >= least_seconds && steady?(probes)
            return false if spent >= most_seconds
          end
        end

        # @param probes [Array<Float>]
        def steady?(probes)
          return false if probes.size < WINDOW * 2
          before, after = probes.last(WINDOW * 2).each_slice(WINDOW).map { |window| Statistics.median(window) }
          after >= before * (1.0 - STEP)
        end

        # The last change point of a process' blocks, if its blocks only fell before it.
        #
        # @param costs [Array<Float>] of the blocks in their order
        # @return [Integer] number of first blocks that are warm-up: none, or two up to half of all; one is rather a
        #   pause
        def warm_up(costs)
          (costs.size / 2).downto(2).find { |size| costs.first(size).min > costs.drop(size).max * FALL } || 0
        end
      end
    end
  end
end
