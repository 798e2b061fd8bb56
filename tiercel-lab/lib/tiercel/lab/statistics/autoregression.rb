# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      # A constant level with autocorrelated noise, an autoregression of the first order: each night's deviation is a
      # share of the previous night's deviation plus an innovation. {#draw} simulates series with the same noise and
      # without a step.
      class Autoregression
        # A larger share cannot be distinguished from a drifting level.
        MOST = 0.95
        # Standard errors added to the estimated share. An estimate that is too small would find steps in series without
        # steps.
        CAUTION = 1.25
        PENALTY = 3.0

        # @return [Float] the share, 0 to {MOST}
        attr_reader :share

        # Estimates the share around the mean of each level. This biases it downwards by (1 + 3 share) / n for each
        # level (Kendall, "Note on bias in the estimation of autocorrelation", Biometrika 41, 1954).
        #
        # @param levels [Array<Array<Float>>] the values between steps
        def initialize(levels)
          @levels = levels.size
          rest = levels.flat_map { |side| side.map { |value| value - (side.sum / side.size) } }
          @share = cautious(rest)
          news = rest.each_cons(2).map { |one, other| other - (@share * one) }
          @news = news.map { |one| one - (news.sum / news.size) }
        end

        # Schwarz's criterion, which chooses the number of levels. Each step counts as two parameters, its place and its
        # size.
        #
        # @return [Float] smaller is better
        def criterion
          size = @news.size
          (size * Math.log([@news.sum { |one| one**2 } / size, Float::MIN].max)) + (PENALTY * @levels * Math.log(size))
        end

        # @param size [Integer]
        # @param random [Random]
        # @return [Array<Float>] a simulated series, from the same innovations in random order
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
