# frozen_string_literal: true

require_relative "../simulator/zipf"

module Tiercel
  module Lab
    module Load
      # The order in which a process asks for the entries 0...items.
      #
      # - `in turn`: one after the other, and again from the first
      # - `uniform`: at random
      # - `zipf`: at random, the entry of rank r with a probability proportional to 1 / (r + 1)**exponent
      # - `near and new`: a share of `near` from the first {NEAR}, and entries that nobody has asked for yet
      class Keys
        NEAR = 200

        # @param items [Integer]
        # @param exponent [Float] of Zipf's law
        def initialize(items:, kind: "in turn", exponent: 1.0, seed: 1)
          @items = items
          @kind = kind
          @random = Random.new(seed)
          @zipf = Simulator::Zipf.new(items, exponent) if kind == "zipf"
          @next = kind == "near and new" ? NEAR : 0
        end

        # @param count [Integer]
        # @param near [Integer, nil] how many of them are near ones
        # @return [Array<Integer>] the next entries; drawn before anything is timed
        def draw(count, near: nil)
          case @kind
          when "zipf" then Array.new(count) { @zipf.sample(@random) }
          when "uniform" then Array.new(count) { @random.rand(@items) }
          when "near and new"
            (Array.new(near || count) { @random.rand(NEAR) } + following(count - (near || count)))
              .shuffle(random: @random)
          else following(count)
          end
        end

        private

        def following(count) = Array.new(count) { @next.tap { @next = (@next + 1) % @items } }
      end
    end
  end
end
