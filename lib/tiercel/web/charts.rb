# frozen_string_literal: true

require_relative "chart"
require_relative "format"

module Tiercel
  class Web
    # The charts of a period: reads, the hit ratio, the cost of misses, waits, writes and evictions.
    #
    # @private
    class Charts
      STEP_MINUTES = { 60 => 1, 1_440 => 15 }.freeze
      private_constant :STEP_MINUTES

      # @param figures [Figures] figures with minutes
      def initialize(figures)
        @figures = figures
        @steps = figures.minutes.each_slice(STEP_MINUTES.fetch(figures.minutes.size, 1)).to_a
        @times = @steps.map { |step| Time.at(step.first[:at]) }
      end

      # @return [Array<Chart>]
      def to_a = [reads, ratio, cost, waits, writes, evictions]

      private

      def reads
        chart("reads", "Reads", [series("hits", "hit", :hits), series("misses", "miss", :misses)],
              headline: Format.compact(@figures.hits + @figures.misses))
      end

      def ratio
        shares = sum(:hits).zip(sum(:misses)).map do |hits, misses|
          hits.fdiv(hits + misses) if (hits + misses).positive?
        end
        reads = @figures.hits + @figures.misses
        chart("ratio", "Hit ratio", [Chart::Series.new("hit ratio", "hit", shares)], line: true, top: 1.0,
              format: :percent, headline: reads.zero? ? "–" : Format.percent(@figures.hits.fdiv(reads)))
      end

      def cost
        chart("cost", "Cost of misses", [series("in blocks of fetch", "cost", :block_seconds)], format: :seconds,
              headline: Format.seconds(@figures.block_seconds))
      end

      def writes = count("writes", "Writes", { "writes" => [:writes, "write"] })
      def evictions = count("evictions", "Evictions", { "evictions" => [:evictions, "evict"] })

      def waits
        count("waits", "Waits for another caller",
              { "waits" => [:lease_waits, "wait"], "stale answers in place of a wait" => [:stale_hits, "stale"] })
      end

      def count(id, title, names)
        all = names.map { |name, (figure, css)| series(name, css, figure) }
        chart(id, title, all, headline: Format.compact(all.sum { |one| one.values.sum }.round))
      end

      def chart(id, title, series, **) = Chart.new(id:, title:, times: @times, series:, **)

      def series(name, css, figure) = Chart::Series.new(name, css, sum(figure))

      def sum(figure) = @steps.map { |step| step.sum { |minute| minute[figure] } }
    end
  end
end
