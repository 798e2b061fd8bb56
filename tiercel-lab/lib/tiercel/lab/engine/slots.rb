# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # In which order arms are built and run. Inside one process the order
      # alone makes 6 %, so every second process has the reverse of the order
      # of the one before: any arm comes before any other in exactly half of
      # an even number of processes.
      module Slots
        module_function

        # @param ids [Array<Integer>]
        # @param process [Integer]
        # @param seed [Integer]
        # @return [Array<Integer>] the order in which the process builds its arms
        def order(ids, process:, seed:)
          shuffled = ids.shuffle(random: Random.new((seed * 1_000) + (process / 2)))
          process.even? ? shuffled : shuffled.reverse
        end

        # Every arm once, then all in reverse (ABBA), each block beginning with another arm.
        #
        # @param order [Array<Integer>] of the process
        # @param block [Integer]
        # @return [Array<Integer>]
        def block(order, block)
          forward = order.rotate(block)
          forward + forward.reverse
        end
      end
    end
  end
end
