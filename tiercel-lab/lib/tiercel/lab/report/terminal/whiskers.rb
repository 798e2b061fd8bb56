# frozen_string_literal: true

require_relative "../scale"

module Tiercel
  module Lab
    module Report
      module Terminal
        # Draws intervals with characters on a common scale, so that the reader sees which of them overlap.
        #
        #   whiskers = Whiskers.new([interval, other], mark: 1.0)
        #   whiskers.draw(interval) # => "  ├●─┤  ┊     "
        class Whiskers
          WIDTH = 14
          # Figures that differ by more than this factor have a logarithmic scale.
          WIDE = 20

          # @param intervals [Array<#low, #high>] all intervals of the scale
          # @param mark [Float, nil] a figure to mark on each line, such as the baseline's 1
          def initialize(intervals, mark: nil)
            figures = [*intervals.flat_map { |interval| [interval.low, interval.high] }, *mark]
            @mark = mark
            @scale = scale(*figures.minmax) if [*intervals, *mark].size > 1 && figures.uniq.size > 1
          end

          # @return [Boolean] whether the scale has more than one point
          def any? = !@scale.nil?

          # @param interval [#estimate, #low, #high, nil]
          # @return [String] WIDTH characters; for nil, only the mark
          def draw(interval)
            line = Array.new(WIDTH, " ")
            line[place(@mark)] = "\u250A" if @scale && @mark
            return line.join unless @scale && interval
            low, middle, high = [interval.low, interval.estimate, interval.high].map { |figure| place(figure) }
            (low..high).each { |index| line[index] = "\u2500" }
            line[low] = "\u251C"
            line[high] = "\u2524"
            line[middle] = "\u25CF"
            line.join
          end

          private

          def scale(low, high)
            range = [0, WIDTH - 1]
            return Scale::Log.new(low, high, range) if low.positive? && high / low > WIDE
            Scale::Linear.new(low, high, range, nice: false)
          end

          def place(figure) = @scale.call(figure).round.clamp(0, WIDTH - 1)
        end
      end
    end
  end
end
