# frozen_string_literal: true

module Tiercel::Lab
  # The lab's statistics: pure functions of Arrays of numbers. The functions need no library, and a seed gives the same
  # result on every machine.
  module Statistics
    Tiercel::Lab.declare self, "statistics/change_points" => %i[Autoregression ChangePoints]

    # An estimate with its lower and upper bound.
    #
    # @!attribute [r] estimate
    #   @return [Float]
    # @!attribute [r] low
    #   @return [Float]
    # @!attribute [r] high
    #   @return [Float]
    Interval = Data.define(:estimate, :low, :high) do
      # @yieldparam value [Float]
      # @return [Interval] the result of an increasing function of estimate and bounds
      def map = Interval.new(yield(estimate), yield(low), yield(high))

      # @return [Interval] an interval of ratios, from this interval of logarithms
      def exp = map { |value| Math.exp(value) }

      # @return [Interval] the interval of 1/x, for positive bounds
      def inverse = Interval.new(1.0 / estimate, 1.0 / high, 1.0 / low)

      # @param other [Interval] positive
      # @return [Interval] this divided by the other; the bounds are the most distant ones
      def over(other) = Interval.new(estimate / other.estimate, low / other.high, high / other.low)

      # The difference of two estimates from their intervals, which may be asymmetric (MOVER: Zou and Donner,
      # "Construction of confidence limits about effect measures", Statistics in Medicine 27, 2008).
      #
      # @param other [Interval]
      # @return [Interval] this minus the other
      def minus(other)
        middle = estimate - other.estimate
        Interval.new(middle, middle - Math.hypot(estimate - low, other.high - other.estimate),
                     middle + Math.hypot(high - estimate, other.estimate - other.low))
      end

      # The sum of two independent estimates, by the same method.
      #
      # @param other [Interval]
      # @return [Interval]
      def plus(other)
        total = estimate + other.estimate
        Interval.new(total, total - Math.hypot(estimate - low, other.estimate - other.low),
                     total + Math.hypot(high - estimate, other.high - other.estimate))
      end

      # @return [Float] distance of the more distant bound from zero
      def reach = [low.abs, high.abs].max

      # @param value [Numeric]
      # @return [Boolean]
      def cover?(value) = value.between?(low, high)

      # @return [Hash{String => Float}] the form of the results file
      def record = to_h.transform_keys(&:to_s)
    end

    module_function

    # The share of Student's t distribution below a value. For whole degrees of freedom it is a finite sum (Abramowitz
    # and Stegun, 26.7.3 and 26.7.4).
    #
    # @param value [Float]
    # @param degrees [Integer] degrees of freedom, 1 or more
    # @return [Float]
    def t_share(value, degrees)
      raise ArgumentError, "degrees of freedom #{degrees.inspect}: expected 1 or more" if degrees < 1
      angle = Math.atan(value / Math.sqrt(degrees))
      cosine = Math.cos(angle)
      term, sum = degrees.odd? ? [cosine, degrees == 1 ? 0.0 : cosine] : [1.0, 1.0]
      (degrees.odd? ? 3 : 2).step(degrees - 2, 2) { |k| sum += (term *= cosine**2 * (k - 1) / k) }
      within = degrees.odd? ? (angle + (Math.sin(angle) * sum)) * 2 / Math::PI : Math.sin(angle) * sum
      0.5 + (within / 2)
    end

    # The value below which a share of Student's t distribution lies, by bisection.
    #
    # @param share [Float] 0.5 up to, not including, 1.0
    # @param degrees [Integer]
    # @return [Float]
    def t_quantile(share, degrees)
      raise ArgumentError, "share #{share.inspect}: expected 0.5 to 1.0" unless share >= 0.5 && share < 1.0
      low, high = 0.0, 1.0
      high *= 2 while t_share(high, degrees) < share
      60.times do
        middle = (low + high) / 2
        t_share(middle, degrees) < share ? low = middle : high = middle
      end
      high
    end

    # Factor from the median absolute deviation to the standard deviation of a normal distribution.
    MAD_TO_DEVIATION = 1.4826
    # See {clipped_deviation}.
    CLIPPED_AT = 3.0

    module_function

    # @param values [Array<Numeric>] a non-empty Array
    # @return [Numeric] the middle value, or the mean of the two middle values
    # @raise [ArgumentError] for an empty Array
    def median(values) = sorted_median(values.sort)

    # @param sorted [Array<Numeric>] values in ascending order
    # @return [Numeric]
    def sorted_median(sorted)
      size = sorted.size
      raise ArgumentError, "median of no values" if size.zero?
      middle = size / 2
      size.odd? ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0
    end

    # The median absolute deviation from the median, without a scale factor.
    #
    # @param values [Array<Numeric>]
    # @return [Numeric]
    def mad(values)
      center = median(values)
      median(values.map { |value| (value - center).abs })
    end

    # The root mean square of deviations. A deviation is limited to {CLIPPED_AT} times the usual deviation, so that a
    # single outlier does not dominate. (The median of normally distributed deviations is robust too, but has 37 % of
    # the efficiency.)
    #
    # @param deviations [Array<Numeric>] around 0
    # @return [Float]
    def clipped_deviation(deviations)
      limit = CLIPPED_AT * median(deviations.map(&:abs)) * MAD_TO_DEVIATION
      Math.sqrt(deviations.sum { |one| [one.abs, limit].min**2 } / deviations.size)
    end

    # Interpolates between the two nearest ranks (type 7 of Hyndman and Fan, 1996, as in R, NumPy and spreadsheets).
    #
    # @param values [Array<Numeric>]
    # @param share [Float] 0.0 to 1.0
    # @return [Float]
    def quantile(values, share) = sorted_quantile(values.sort, share)

    # @param sorted [Array<Numeric>] values in ascending order
    # @param share [Float] 0.0 to 1.0
    # @return [Float]
    def sorted_quantile(sorted, share)
      raise ArgumentError, "quantile of no values" if sorted.empty?
      raise ArgumentError, "quantile #{share.inspect}: expected 0.0 to 1.0" unless share.between?(0, 1)
      position = (sorted.size - 1) * share
      below = position.floor
      above = [below + 1, sorted.size - 1].min
      sorted[below] + ((sorted[above] - sorted[below]) * (position - below)).to_f
    end

    # The interval of a mean, or of a ratio of means, over the values of several processes. Unlike a median, a mean
    # includes what a few slow blocks cost. Each process is a cluster and counts once, by the mean of its blocks. The
    # standard error is that of a ratio estimator, by linearization (Cochran, "Sampling Techniques", 1977, 6.3). The
    # bounds are symmetric in logarithms; Student's t has one degree of freedom less than there are processes.
    module MeanInterval
      # With fewer processes the bounds are the range of all blocks, because the standard error would be useless.
      LEAST_PROCESSES = 3

      module_function

      # @param processes [Array<Array<Float>>] positive values of each process
      # @param alpha [Float]
      # @return [Interval]
      def of(processes, alpha: MedianInterval::ALPHA)
        ratio(processes, processes.map { |values| Array.new(values.size, 1.0) }, alpha:)
      end

      # @param mine [Array<Array<Float>>] positive values of each process
      # @param theirs [Array<Array<Float>>] the other arm's figures in the same processes and blocks
      # @param alpha [Float]
      # @return [Interval] the mean of mine divided by the mean of theirs
      # @raise [ArgumentError] without processes, or if a process has no values
      def ratio(mine, theirs, alpha: MedianInterval::ALPHA)
        raise ArgumentError, "mean of no values" if mine.empty? || mine.any?(&:empty?)
        means = [mine, theirs].map { |processes| processes.map { |values| values.sum.fdiv(values.size) } }
        one, other = means.map { |all| all.sum / all.size }
        return range(one / other, mine, theirs) if mine.size < LEAST_PROCESSES
        residuals = means.transpose.map { |a, b| (a / one) - (b / other) }
        error = Math.sqrt(residuals.sum { |residual| residual**2 } / (mine.size * (mine.size - 1)))
        reach = Statistics.t_quantile(1.0 - (alpha / 2), mine.size - 1) * error
        Interval.new(one / other, one / other * Math.exp(-reach), one / other * Math.exp(reach))
      end

      def range(estimate, mine, theirs)
        ratios = mine.flatten.zip(theirs.flatten).map { |one, other| one / other }
        Interval.new(estimate, [*ratios, estimate].min, [*ratios, estimate].max)
      end
      private_class_method :range
    end

    # The interval of a median over the values of several processes. Blocks of one process depend on each other, so
    # each process is a cluster and counts once, by its median; Student's t gives the bounds over the processes. The
    # medians of processes are nearly normal whatever the blocks' tails are. Simulated coverage of nominal 95 %: 93 to
    # 97 % for 4 to 24 processes, whether processes or blocks vary more (median_interval_test.rb).
    module MedianInterval
      # Probability that an interval misses the median.
      ALPHA = 0.05
      # With fewer processes the bounds are the range of all blocks.
      LEAST_PROCESSES = 3

      module_function

      # @param processes [Array<Array<Float>>] the values of each process
      # @param alpha [Float]
      # @return [Interval] the mean of the processes' medians with its bounds; with fewer than {LEAST_PROCESSES}, the
      #   whole range
      # @raise [ArgumentError] without processes, or if a process has no values
      def of(processes, alpha: ALPHA)
        raise ArgumentError, "median of no values" if processes.empty? || processes.any?(&:empty?)
        medians = processes.map { |values| Statistics.median(values) }
        middle = medians.sum / medians.size
        return Interval.new(middle, *processes.flatten.minmax) if processes.size < LEAST_PROCESSES
        reach = Statistics.t_quantile(1.0 - (alpha / 2), medians.size - 1) * error(medians, middle)
        Interval.new(middle, middle - reach, middle + reach)
      end

      # The same for times, which are positive and skewed: computes with their logarithms.
      #
      # @return [Interval]
      def of_times(processes, alpha: ALPHA)
        return of(processes, alpha:) unless processes.all? { |values| values.all?(&:positive?) }
        of(processes.map { |values| values.map { |value| Math.log(value) } }, alpha:).exp
      end

      # The standard error of the mean.
      def error(figures, mean)
        Math.sqrt(figures.sum { |figure| (figure - mean)**2 } / (figures.size * (figures.size - 1)))
      end
      private_class_method :error
    end

    # The blocks that make a mean larger than its median: their number, the cost of one, and the number of calls
    # between two.
    #
    # @!attribute [r] blocks
    #   @return [Integer] number of slow blocks
    # @!attribute [r] of
    #   @return [Integer] number of all blocks
    # @!attribute [r] ns
    #   @return [Float] mean cost of a slow block beyond the median
    # @!attribute [r] calls
    #   @return [Float] calls for each slow block
    SlowBlocks = Data.define(:blocks, :of, :ns, :calls) do
      # @param costs [Array<Float>] nanoseconds of a call, one figure for each block
      # @param calls [Float] calls of one block
      # @return [SlowBlocks, nil] nil without slow blocks
      def self.among(costs, calls:)
        middle = Statistics.median(costs)
        limit = middle + [Statistics.mad(costs) * SlowBlocks::FAR, middle * SlowBlocks::LEAST].max
        slow = costs.select { |cost| cost > limit }
        return if slow.empty?
        excess = (slow.sum / slow.size) - middle
        new(blocks: slow.size, of: costs.size, ns: excess * calls, calls: costs.size * calls / slow.size)
      end

      # @return [Hash{String => Numeric}]
      def record = to_h.transform_keys(&:to_s)
    end

    class SlowBlocks
      # A slow block is at least this many median absolute deviations above the median: 6 standard deviations of a
      # normal distribution.
      FAR = 9.0
      # The pause also exceeds the median by at least this share.
      LEAST = 0.05
    end

    # Judges an interval of ratios (an arm's time divided by the baseline's) by a margin that was fixed before the
    # measurement. A verdict needs the whole interval on one side of the margin. Noise widens the interval, never the
    # margin.
    #
    # A cell has two intervals: the median's is narrow, and the mean's includes rare costs.
    module Verdict
      ALL = %i[faster slower same uneven cannot_tell].freeze
      # For "same", the wider interval lies within this many margins.
      WIDE = 2

      module_function

      # @param interval [Interval] an interval of ratios; below 1.0 the arm takes less time
      # @param margin [Float] 0.02: ratios from 1 / 1.02 to 1.02 are the same, whichever arm is the baseline
      # @param equality [Boolean] whether :same is a possible verdict (a quick run is too short for it)
      # @return [Symbol] one of {ALL}
      def of(interval, margin:, equality: true)
        above = 1.0 + margin
        below = 1.0 / above
        return :faster if interval.high < below
        return :slower if interval.low > above
        return :same if equality && interval.low >= below && interval.high <= above
        :cannot_tell
      end

      # Judges by median and mean. If they differ by more than the margin and their verdicts differ too, a few blocks
      # are expensive: the verdict is :uneven. If only one interval decides, the other one must not contradict it.
      #
      # @param median [Interval] median of the ratios
      # @param mean [Interval] mean of the ratios
      # @return [Symbol] one of {ALL}
      def by_both(median, mean, margin:, equality: true)
        words = [median, mean].map { |interval| of(interval, margin:, equality:) }
        return words.first if words.uniq.one?
        return :uneven if apart?(median, mean, 1.0 + margin)
        return :cannot_tell unless words.include?(:cannot_tell)
        word, other = words.first == :cannot_tell ? [words.last, median] : [words.first, mean]
        supported?(word, other, margin) ? word : :cannot_tell
      end

      # @return [Boolean] whether more than a factor lies between the intervals
      def apart?(one, other, factor) = one.high * factor < other.low || other.high * factor < one.low

      # Returns whether an undecided interval agrees with a verdict.
      def supported?(word, interval, margin)
        case word
        when :faster then interval.estimate < 1.0
        when :slower then interval.estimate > 1.0
        else of(interval, margin: margin * WIDE) == :same
        end
      end
      private_class_method :supported?
    end

    # The interim analyses of a comparison: the number of processes before each analysis, and its error probability. A
    # run that stopped at the first decisive interval of many would find differences that do not exist. The error
    # probability is therefore divided among the analyses before the measurement (repeated confidence intervals:
    # Jennison and Turnbull, "Group Sequential Methods", 2000, chapter 9). Each analysis has twice the processes of the
    # previous one and half of its error probability. The sum 1/2 + 1/4 + ... of {MedianInterval::ALPHA} never exceeds
    # the whole. Bonferroni's inequality holds however the analyses depend on each other.
    class InterimAnalyses
      # @param first [Integer] processes of the first analysis
      # @param most [Integer] maximum number of processes
      def initialize(first:, most:)
        @first = first
        @most = most
      end

      # @return [Array<Integer>] processes at each analysis
      def sizes = @sizes ||= [@first].tap { |all| all << (all.last * 2) while all.last * 2 <= @most }

      # @param processes [Integer]
      # @return [Float] the error probability of the analysis after this number of processes
      def alpha(processes)
        sizes.one? ? MedianInterval::ALPHA : MedianInterval::ALPHA / (2**(number(processes) + 1))
      end

      # Estimated number of processes needed for a verdict, given the current interval. The estimate supposes that the
      # center stays and that the interval narrows as the analyses proceed.
      #
      # @param interval [Interval] the current analysis' interval
      # @param processes [Integer] number of processes in the current analysis
      # @param distance [Float] from the center to the margin, in the interval's unit
      # @param most [Integer] the largest acceptable number of processes
      # @return [Integer, nil] nil if more than `most` are needed: the center is close to the margin
      def needed(interval, processes, distance:, most:)
        width = [interval.high - interval.estimate, interval.estimate - interval.low].max / spread(processes)
        size = @first
        size *= 2 while size <= most && (size <= processes || width * spread(size) >= distance)
        size if size <= most
      end

      private

      # The analysis' number, from 0. Sizes beyond the last analysis continue the series.
      def number(processes) = Math.log2(processes.fdiv(@first)).floor.clamp(0..)

      # An interval's width is proportional to this.
      def spread(processes)
        alpha = MedianInterval::ALPHA / (2**(number(processes) + 1))
        Statistics.t_quantile(1.0 - (alpha / 2), [processes - 1, 1].max) / Math.sqrt(processes)
      end
    end
  end
end
