# frozen_string_literal: true

require_relative "protocol"

module Tiercel
  module Lab
    module Engine
      # The rounds of one value, and which of them are used: where the machine was disturbed during some, more are made,
      # and the least disturbed are used. What disturbs is measured (steal, and the workers' time in the run queue
      # behind other programs); the times that a round found have no say in it.
      class Rounds
        # @yieldparam process [Integer] number of the round to make
        # @yieldreturn [Float, nil] the share of its time that others took; nil where the system does not tell
        def initialize(&make)
          @make = make
          @shares = []
        end

        # @return [Integer] that were made
        def made = @shares.size

        # @param size [Integer] rounds that a look uses
        # @param again [Boolean] whether disturbed ones are made again, up to a third more
        # @yieldreturn [Boolean] whether there is time for one more
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
        # @return [Array<Integer>] numbers of the rounds that are in no figure
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
