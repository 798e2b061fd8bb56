# frozen_string_literal: true

module Tiercel
  module Lab
    module Load
      # Draws ranks with probability proportional to 1 / (rank + 1)**s, in constant time, by the alias method (Vose, "A
      # linear algorithm for generating random numbers with a given distribution", 1991).
      class Zipf
        # @return [Integer] number of ranks
        attr_reader :items
        # @return [Float] exponent; 0 is uniform
        attr_reader :s

        # @param items [Integer] at least 1
        # @param s [Numeric] at least 0
        # @raise [ArgumentError] for other values
        def initialize(items, s)
          raise ArgumentError, "items: expected >= 1, got #{items.inspect}" unless items.is_a?(Integer) && items >= 1
          raise ArgumentError, "s: expected a number >= 0, got #{s.inspect}" unless s.is_a?(Numeric) && s >= 0
          @items = items
          @s = Float(s)
          build_table
        end

        # @param rank [Integer] from 0
        # @return [Float] its probability
        def probability(rank) = @weights[rank] / @total

        # @param random [Random]
        # @return [Integer] a rank from 0
        def sample(random)
          column = random.rand(@items)
          random.rand < @thresholds[column] ? column : @aliases[column]
        end

        private

        def build_table
          @weights = Array.new(@items) { |rank| (rank + 1)**-@s }
          @total = @weights.sum
          scaled = @weights.map { |weight| weight * @items / @total }
          @thresholds = Array.new(@items, 1.0)
          @aliases = Array.new(@items) { |rank| rank }
          poor, rich = (0...@items).partition { |rank| scaled[rank] < 1.0 }
          until poor.empty? || rich.empty?
            giver = rich.last
            taker = poor.pop
            @thresholds[taker] = scaled[taker]
            @aliases[taker] = giver
            scaled[giver] -= 1.0 - scaled[taker]
            poor.push(rich.pop) if scaled[giver] < 1.0
          end
        end
      end
    end
  end
end
