# frozen_string_literal: true

require_relative "protocol"

module Tiercel
  module Lab
    module Engine
      # The rounds of one value. If the machine was disturbed during some rounds, more are made, and the least disturbed
      # ones count. The disturbance is measured by steal and by the workers' time in the run queue; the rounds' own
      # results have no influence.
      class Rounds
        # @yieldparam process [Integer] number of the next round
        # @yieldreturn [Float, nil] the share of the round's time that other programs took; nil if unknown
        def initialize(&make)
          @make = make
          @shares = []
        end

        # @return [Integer] number of rounds so far
        def made = @shares.size

        # @param size [Integer] rounds that the analysis uses
        # @param again [Boolean] whether to replace disturbed rounds, up to a third of `size`
        # @yieldreturn [Boolean] whether the budget has room for another round
        # @return [void]
        def make(size, again:)
          missing = size - used_of(size).size
          missing.times { add }
          return unless again
          (size / 3).times do
            break unless disturbed?(worst(size)) && yield
            add
            break if disturbed?(@shares.last) # the machine is not quiet between disturbances, it is busy
          end
        end

        # @param size [Integer]
        # @return [Array<Integer>] numbers of the rounds that the figures leave out
        def aside(size) = (0...made).to_a - used_of(size)

        private

        def add = @shares << @make.call(made)

        def used_of(size) = (0...made).min_by(size) { |process| [@shares[process].to_f, process] }

        def worst(size) = @shares[used_of(size).last]

        def disturbed?(share) = share.to_f > Protocol::DISTURBED_SHARE
      end
    end
  end
end
