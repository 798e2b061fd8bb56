# frozen_string_literal: true

require_relative "../statistics"
require_relative "point"

module Tiercel
  module Lab
    module History
      # A step of a series.
      #
      # @!attribute [r] index
      #   @return [Integer] index of the first point at the new level
      # @!attribute [r] change
      #   @return [Statistics::Interval] the new level divided by the old one, 1.05: 5 % more; exact for counts
      # @!attribute [r] alert
      #   @return [Boolean] whether it is an alert: a recent increase that a revision can have caused
      # @!attribute [r] reason
      #   @return [String, nil] the reason why it is no alert
      Change = Data.define(:series, :index, :change, :alert, :reason) do
        def before = series.points[index - 1]
        def after = series.points[index]

        # @return [String] the range of revisions that contains its cause
        def range = [before, after].map { |point| point.revision ? point.revision[0, 12] : "?" }.join("..")

        # @return [Array<String>] tools that changed their versions at the same point
        def tools = Changes.tools(before, after)
      end

      # Finds the steps of all series of a history. Counted figures change exactly; for measured ones
      # {Statistics::ChangePoints} decides. {ALPHA} is the probability of a step in a history without one. The series
      # share it equally (Bonferroni's inequality); beyond fifty, each has the share of fifty.
      class Changes
        ALPHA = 0.002
        # With fewer runs the correlation between nights is unknown: half of all false alerts about times came before
        # this many runs.
        LEAST_RUNS = 25
        # Smaller increases are no alerts.
        LEAST = 0.02
        # A step is an alert only if it lies within this many last runs.
        RUNS = 14

        # @param one [Point]
        # @param other [Point]
        # @return [Array<String>] "ruby: 3.3.8 then, 3.4.1 now"
        def self.tools(one, other)
          (one.tools.keys & other.tools.keys).filter_map do |name|
            before, after = one.tools[name], other.tools[name]
            "#{name}: #{before} \u2192 #{after}" unless before == after
          end
        end

        # @param series [Array<Series>]
        # @param least [Float] smallest increase of an alert, 0.02: 2 %
        # @param runs [Integer] number of last runs in which an alert's step lies
        def initialize(series, least: LEAST, runs: RUNS)
          @series = series
          @least = least
          @runs = runs
        end

        # @return [Array<Change>] alerts first
        def all
          @all ||= @series.flat_map { |one| one.exact ? counted(one) : measured(one) }
                          .sort_by { |change| [change.alert ? 0 : 1, -change.after.at.to_f] }
        end

        def alerts = all.select(&:alert)

        # @param series [Series]
        # @return [Float, nil] the smallest increase (0.05: 5 %) that is found within {Statistics::ChangePoints::WITHIN}
        #   runs; nil for counts, whose changes are all found, and for short series
        def smallest(series)
          return if series.exact
          step = Statistics::ChangePoints.detectable(logs(series), alpha:)
          step && (Math.exp(step) - 1.0)
        end

        private

        def measured(series)
          steps = Statistics::ChangePoints.of(logs(series), alpha:)
          steps.map { |step| change(series, step.at, step.shift.exp) }
        end

        def logs(series) = series.points.map { |point| Math.log(point.value) }

        def alpha = [ALPHA / @series.count { |one| !one.exact }, Statistics::ChangePoints::LEAST_ALPHA].max

        # A single run with another count may be an inexact count. It is a step if the next run has the same count, or
        # if it is the last run.
        def counted(series)
          values = series.points.map(&:value)
          (1...values.size).filter_map do |index|
            before, now, later = values[index - 1], values[index], values[index + 1]
            next if now == before || (later && later != now)
            ratio = now / before # infinity if the count was 0 before
            change(series, index, Statistics::Interval.new(ratio, ratio, ratio))
          end
        end

        def change(series, index, interval)
          reason = reason(series, index, interval)
          Change.new(series:, index:, change: interval, alert: reason.nil?, reason:)
        end

        def reason(series, index, interval)
          before, after = series.points[index - 1], series.points[index]
          return "it is less" if interval.estimate < 1.0
          return "the baseline of other cells" if series.reference?
          return "fewer than #{LEAST_RUNS} runs" if !series.exact && series.points.size < LEAST_RUNS
          return "below #{(@least * 100).round(1)} %" if !series.exact && interval.estimate < 1.0 + @least
          return "#{series.points.size - index} runs ago" if series.points.size - index > @runs
          return unless after.revision && before.revision == after.revision
          "the revision is the same before and after: the machine or its tools changed"
        end
      end
    end
  end
end
