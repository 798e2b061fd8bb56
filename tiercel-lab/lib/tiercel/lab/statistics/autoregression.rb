# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      # A level with noise that remembers: each night's distance from the level is a share of the distance of the night
      # before, plus something new (an autoregression of the first order). {#draw} makes series of the same memory and
      # noise without a step.
      class Autoregression
        # More memory than this cannot be told from a level that wanders.
        MOST = 0.95
        # Standard errors that are added to the share: too little memory would find steps that are none.
        CAUTION = 1.0
        PENALTY = 3.0

        # @return [Float] the share, 0 to {MOST}
        attr_reader :share

        # The share is estimated around each level's mean, which biases it downwards by (1 + 3 share) / n for each
        # (Kendall, "Note on bias in the estimation of autocorrelation", Biometrika 41, 1954).
        #
        # @param levels [Array<Array<Float>>] values between steps
        def initialize(levels)
          @levels = levels.size
          rest = levels.flat_map { |side| side.map { |value| value - (side.sum / side.size) } }
          @share = cautious(rest)
          news = rest.each_cons(2).map { |one, other| other - (@share * one) }
          @news = news.map { |one| one - (news.sum / news.size) }
        end

        # Schwarz's, for a choice among numbers of levels: each step has a place and a size.
        #
        # @return [Float] less is better
        def criterion
          size = @news.size
          (size * Math.log([@news.sum { |one| one**2 } / size, Float::MIN].max)) + (PENALTY * @levels * Math.log(size))
        end

        # @param size [Integer]
        # @param random [Random]
        # @return [Array<Float>] made of the same news, in random order
        def draw(size, random)
          last = @news[random.rand(@news.size)] / Math.sqrt(1.0 - (@share**2))
          Array.new(size) { last.tap { last = (@share * last) + @news[random.rand(@news.size)] } }
        end

        private

        def cautious(rest)
          found = rest.each_cons(2).sum { |one, other| one * other } / [rest.sum { |one| one**2 }, Float::MIN].max
          found += (1.0 + (3.0 * found)) * @levels / rest.size
          (found + (CAUTION * Math.sqrt([1.0 - (found**2), 0.0].max / rest.size))).clamp(0.0, MOST)
        end
      end
    end
  end
end
