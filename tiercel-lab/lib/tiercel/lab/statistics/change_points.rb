# frozen_string_literal: true

module Tiercel::Lab
  module Statistics
    # A constant level with autocorrelated noise (an autoregression of the first order). The deviation of each night is
    # a share of the previous night's deviation, plus an innovation. {#draw} simulates series with this noise and
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

    # Finds the places where the level of a series changes.
    # - The series is divided into intervals of several lengths (seeded binary segmentation: Kovacs, Buehlmann, Li and
    #   Munk, Biometrika 110, 2023). In each interval the mean before each place is compared with the mean after it.
    #   The intervals find a level that came and went, which a single division misses.
    # - The place with the largest difference is a step if the difference is larger than in series without a step. A
    #   permutation test decides, with early stopping (Besag and Clifford, Biometrika 78, 1991). Then each side of the
    #   step is tested in the same way.
    # - Nights resemble the nights before them. The test therefore permutes innovations ({Autoregression}), not
    #   values. A block permutation is no alternative: 60 nights have only six blocks of ten.
    # - An outlier is first replaced by its neighbours' median (Hampel, Journal of the American Statistical
    #   Association 69, 1974).
    #
    # The hierarchy of permutation tests follows E-divisive (Matteson and James, Journal of the American Statistical
    # Association 109, 2014). MongoDB's performance tests use E-divisive (Daly et al., ICPE 2020).
    module ChangePoints
      # Minimum number of values on either side of a step.
      LEAST = 5
      # Maximum number of permutations of a test.
      MOST_PERMUTATIONS = 50_001
      # The smallest error probability that {MOST_PERMUTATIONS} can decide.
      LEAST_ALPHA = 2e-5
      # Permutations of a test, as a multiple of 1 / alpha.
      ORDERS = 2
      # The 97.5 % point of the normal distribution.
      NORMAL_975 = 1.959964
      # Neighbours on either side of a value, and the number of deviations from their median that makes it an outlier.
      NEIGHBOURS = 3
      TOO_FAR = 6.0
      # {detectable} estimates the step that is found within this many nights with this probability.
      WITHIN = 10
      OFTEN = 0.8
      # Simulated series from which {detectable} estimates.
      DRAWS = 200
      # A factor for {detectable}. The estimate mistakes a part of a step for autocorrelation, so a detectable step is
      # larger by this factor. (In simulations of 60 steps with an autocorrelation of 0.7, the test found 34 without the
      # factor and 49 with it. With 0.5 it found 51 and 58, with 0 it found 55 and 60.)
      MISTAKEN = 1.1
      # Maximum number of steps between which the noise is estimated.
      MOST_STEPS = 4
      # Euler's constant.
      EULER = 0.5772157

      # A step of a series.
      #
      # @!attribute [r] at
      #   @return [Integer] index of the first value of the new level
      # @!attribute [r] shift
      #   @return [Interval] difference between the new level and the old one, 95 %
      # @!attribute [r] p_value
      #   @return [Float]
      Step = Data.define(:at, :shift, :p_value)

      module_function

      # @param values [Array<Float>] in the order of time; pass logarithms to find ratios
      # @param alpha [Float] probability of finding a step in a series without one; at least {LEAST_ALPHA}
      # @param seed [Integer] seed of the permutations
      # @return [Array<Step>] in the order of time
      def of(values, alpha:, seed: 1)
        places = split(cleaned(values), 0, alpha, Random.new(seed)).sort
        edges = [0, *places.map(&:first), values.size]
        places.each_with_index.map do |(at, p_value), index|
          Step.new(at:, p_value:, shift: shift(values[edges[index]...at], values[at...edges[index + 2]]))
        end
      end

      # The smallest step that is found within {WITHIN} nights with probability {OFTEN}. The critical value comes from
      # the Gumbel distribution, which the largest statistic of a series without a step follows.
      #
      # @param values [Array<Float>]
      # @param alpha [Float]
      # @return [Float, nil] in the unit of the values; nil for series that are too short
      def detectable(values, alpha:, seed: 1)
        before = values.size - WITHIN
        return if before < WITHIN
        values, random = cleaned(values), Random.new(seed)
        noise = noise(values)
        draws = Array.new(DRAWS) { noise.draw(values.size, random) }
        least = Math.sqrt(values.size.fdiv(before * WITHIN))
        chance = draws.map { |draw| (mean(draw.last(WITHIN)) - mean(draw.first(before))) / deviation(draw) }
        statistic = critical(draws.map { |draw| largest(draw).first }, alpha)
        ((statistic * least) + Statistics.quantile(chance, OFTEN)) * deviation(values) * MISTAKEN
      end

      # Estimates the noise around the number of levels that fits best. Without the levels a step would count as
      # autocorrelation.
      #
      # @return [Autoregression]
      def noise(values)
        edges = [0, values.size]
        fits = [Autoregression.new([values])]
        MOST_STEPS.times do
          place = next_place(values, edges) or break
          edges = [*edges, place].sort
          fits << Autoregression.new(edges.each_cons(2).map { |from, to| values[from...to] })
        end
        fits.min_by(&:criterion)
      end

      def next_place(values, edges)
        spans = edges.each_cons(2).select { |from, to| to - from >= 2 * LEAST }
        found = spans.map { |from, to| largest(values[from...to]).then { |most, at| [most, at && (from + at)] } }
        found.select(&:last).max_by(&:first)&.last
      end
      private_class_method :noise, :next_place

      def critical(statistics, alpha)
        middle = mean(statistics)
        spread = Math.sqrt(mean(statistics.map { |one| (one - middle)**2 })) * Math.sqrt(6) / Math::PI
        middle - (spread * (EULER + Math.log(-Math.log(1.0 - alpha))))
      end
      private_class_method :critical

      def mean(values) = values.sum / values.size
      private_class_method :mean

      # @return [Array(Float, Integer)] the largest statistic of all places, and the index after its place
      def largest(values, intervals = intervals(values.size))
        sums = values.each_with_object([0.0]) { |value, all| all << (all.last + value) }
        best, place = 0.0, nil
        intervals.each do |from, to|
          (from + LEAST).upto(to - LEAST) do |at|
            before, after = at - from, to - at
            difference = ((sums[at] - sums[from]) / before) - ((sums[to] - sums[at]) / after)
            statistic = difference * difference * before * after / (before + after)
            best, place = statistic, at if statistic > best
          end
        end
        [Math.sqrt(best) / deviation(values), place]
      end

      # The whole range, then halves that overlap by half, then quarters...
      #
      # @return [Array<Array(Integer, Integer)>] first index, and index after the last
      def intervals(size)
        lengths = [size].tap { |all| all << ((all.last + 1) / 2) while all.last / 2 >= 2 * LEAST }
        lengths.flat_map { |length|
          starts = (0..(size - length)).step([length / 2, 1].max).to_a | [size - length]
          starts.map { |start| [start, start + length] }
        }.uniq
      end

      # The noise's deviation, from differences between neighbours. A step affects only one of them.
      def deviation(values)
        differences = values.each_cons(2).map { |one, other| other - one }
        [Statistics.clipped_deviation(differences) / Math.sqrt(2), Float::MIN].max
      end

      # Replaces an outlier by the median of its neighbours.
      #
      # @return [Array<Float>]
      def cleaned(values)
        return values if values.size <= 2 * NEIGHBOURS
        limit = TOO_FAR * deviation(values)
        values.each_index.map do |index|
          near = values[[index - NEIGHBOURS, 0].max..(index + NEIGHBOURS)]
          middle = Statistics.median(near)
          (values[index] - middle).abs > limit && limit > Float::MIN * TOO_FAR ? middle : values[index]
        end
      end

      # Hodges and Lehmann's estimate of a shift, with the interval that inverts the rank-sum test (Annals of
      # Mathematical Statistics 34, 1963).
      #
      # @return [Interval]
      def shift(before, after)
        differences = after.product(before).map { |new, old| new - old }.sort
        deviation = Math.sqrt(before.size * after.size * (before.size + after.size + 1) / 12.0)
        low = ((differences.size / 2.0) - (NORMAL_975 * deviation)).floor.clamp(0, (differences.size - 1) / 2)
        Interval.new(Statistics.sorted_median(differences), differences[low], differences[-1 - low])
      end

      def split(values, offset, alpha, random)
        return [] if values.size < 2 * LEAST || values.uniq.one?
        statistic, place = largest(values)
        p_value = place ? p_value(values, statistic, alpha, random) : 1.0
        return [] if p_value > alpha
        place = refined(values, place)
        [[offset + place, p_value], *split(values[0...place], offset, alpha, random),
         *split(values[place..], offset + place, alpha, random)]
      end
      private_class_method :split

      # @return [Float]
      def p_value(values, statistic, alpha, random)
        intervals = intervals(values.size)
        noise = noise(values)
        wanted = (ORDERS / alpha).ceil.clamp(100, MOST_PERMUTATIONS)
        exceeding = made = 0
        # Stops as soon as the result cannot be a step any more.
        while made < wanted && exceeding + 1 <= alpha * (wanted + 1)
          made += 1
          exceeding += 1 if largest(noise.draw(values.size, random), intervals).first >= statistic
        end
        (exceeding + 1).fdiv(made + 1)
      end
      private_class_method :p_value

      # Moves a place to the nearby place where both sides lie closest to their medians.
      def refined(values, place)
        near = ((place - 3)..(place + 3)).select { |at| at.between?(LEAST, values.size - LEAST) }
        near.min_by { |at| [values[0...at], values[at..]].sum { |side| distance(side) } }
      end
      private_class_method :refined

      def distance(values)
        middle = Statistics.median(values)
        values.sum { |value| (value - middle).abs }
      end
      private_class_method :distance
    end
  end
end
