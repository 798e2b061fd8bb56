# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # The order in which a process builds and runs its arms. Inside one process the order alone makes a difference of
      # 6 %. Every second process therefore reverses the order of the process before: each arm precedes each other arm
      # in half of the processes.
      module Slots
        # Multiples of this number, modulo 1, spread evenly over 0 to 1, however many there are.
        GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2

        module_function

        # @param ids [Array<Integer>]
        # @param process [Integer]
        # @param seed [Integer]
        # @return [Array<Integer>] the order in which the process builds its arms
        def order(ids, process:, seed:)
          shuffled = ids.shuffle(random: Random.new((seed * 1_000) + (process / 2)))
          process.even? ? shuffled : shuffled.reverse
        end

        # Runs every arm once, then all arms in reverse (ABBA). Each block begins with another arm.
        #
        # @param order [Array<Integer>] the process' order of arms
        # @param block [Integer]
        # @return [Array<Integer>]
        def block(order, block)
          forward = order.rotate(block)
          forward + forward.reverse
        end

        # The length of the unrecorded run between an arm's warm-up and its first slice. Each process begins with a
        # fresh store. Without a head start a pause every N calls comes at the same recorded calls in every process:
        # 60 ms every 16.5 slices is then measured as 35 ms, and a pause every 40 slices is never seen.
        #
        # @param process [Integer]
        # @param most [Float] slices of the longest head start
        # @return [Float] slices
        def head_start(process, most:) = (process * GOLDEN_RATIO) % 1.0 * most
      end
    end
  end
end
