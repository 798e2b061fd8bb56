# frozen_string_literal: true

require_relative "zipf"

module Tiercel
  module Lab
    module Load
      # The order in which a process requests the entries 0...items.
      #
      # - `in turn`: one after the other, again and again
      # - `uniform`: at random
      # - `zipf`: at random; the probability of the entry with rank r is proportional to 1 / (r + 1)**exponent
      # - `near and new`: a share of `near` from the first {NEAR} entries, and entries that no process has requested yet
      class Keys
        NEAR = 200

        # @param items [Integer]
        # @param exponent [Float] the exponent in Zipf's law
        def initialize(items:, kind: "in turn", exponent: 1.0, seed: 1)
          @items = items
          @kind = kind
          @random = Random.new(seed)
          @zipf = Zipf.new(items, exponent) if kind == "zipf"
          @next = kind == "near and new" ? NEAR : 0
        end

        # @param count [Integer]
        # @param near [Integer, nil] number of near entries among them
        # @return [Array<Integer>] the next entries
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
