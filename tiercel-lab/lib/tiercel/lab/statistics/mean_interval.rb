# frozen_string_literal: true

require_relative "interval"
require_relative "median_interval"
require_relative "student"

module Tiercel
  module Lab
    module Statistics
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
    end
  end
end
