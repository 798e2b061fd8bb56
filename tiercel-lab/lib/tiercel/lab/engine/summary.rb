# frozen_string_literal: true

require_relative "noise"
require_relative "paired"
require_relative "protocol"

module Tiercel
  module Lab
    module Engine
      # The summary of a cell's blocks. Every figure includes garbage collection, see {Cell#block_ns}.
      #
      # - `ns`: nanoseconds of a call, the median of the blocks with its interval; `mean_ns`: their mean with its
      #   interval over the processes; `mad_ns`: the blocks' median absolute deviation; `gc_ns`: the mean collection
      #   time of a call
      # - `ratio`: the median of the paired blocks' ratios to the baseline, with its interval; `mean_ratio`: the ratio
      #   of the means, with its interval over the processes; both nil for the baseline
      # - `slow`: if mean and median differ, the blocks that cause the difference ({Statistics::SlowBlocks})
      # - `floor`: the noise floor, the largest difference between two copies of the same arm (0.01: 1 %) in the media
      #   of both arms
      # - `margin`: the margin of the `verdict`, see {Protocol#margin_for}; `p_value`: of the hypothesis that the ratio
      #   is 1
      # - `needs`: the estimated number of processes for a verdict; nil if there is a verdict, if the ratio is close to
      #   the margin, or after a quick run
      # - `flags`: "unsteady" (its cost still fell when the recording began), "compiling" (YJIT compiled during a
      #   slice), "saturated" (the client's CPU was), "incomplete" (fewer processes), "hurried" (fewer blocks)
      Summary = Data.define(:ns, :mean_ns, :mad_ns, :gc_ns, :ratio, :mean_ratio, :slow, :floor, :margin, :verdict,
                            :p_value, :needs, :flags)

      class Summary
        # Computes the summaries of cells. All cells of a comparison must be among them.
        #
        # @param cells [Array<Cell>]
        # @param protocol [Protocol]
        # @param run [Array<Cell>] all cells of the run; their null arms are pooled
        def self.fill(cells, protocol:, run: cells)
          noise = Noise.of(run)
          cells.group_by(&:comparison).each_value { |group| Summarizer.new(group, protocol, noise).fill }
        end

        # @return [Hash{String => Object}] the form of the results file
        def record
          { "ns" => ns.record, "mean_ns" => mean_ns.record, "mad_ns" => mad_ns, "gc_ns" => gc_ns,
            "ratio" => ratio&.record, "mean_ratio" => mean_ratio&.record, "slow" => slow&.record, "floor" => floor,
            "threshold" => margin, "verdict" => verdict&.to_s, "p_value" => p_value, "needs" => needs,
            "flags" => flags }
        end

        # Computes the summaries of one comparison.
        class Summarizer
          def initialize(cells, protocol, noise)
            @noise = noise
            @cells = cells.select(&:measured?)
            @protocol = protocol
            @analyses = protocol.analyses
            @by_id = @cells.to_h { |cell| [cell.arm.id, cell] }
            @blocks = @cells.to_h { |cell| [cell, cell.block_ns] }
          end

          def fill = @cells.each { |cell| cell.summary = summarize(cell) }

          private

          # Uses the processes that all arms have in common. An arm with a late verdict ran in additional processes.
          def shared(cell)
            processes = @blocks.each_value.map(&:keys).reduce(:&)
            (processes.empty? ? @blocks[cell] : @blocks[cell].slice(*processes)).values.map(&:values)
          end

          # Each interval has the confidence of the interim analysis after this number of processes.
          def interval(logs) = Statistics::MedianInterval.of(logs, alpha: alpha_of_each(logs.size))

          def time(processes) = Statistics::MedianInterval.of_times(processes, alpha: alpha(processes.size))

          def mean(processes) = Statistics::MeanInterval.of(processes, alpha: alpha(processes.size))

          def alpha(processes) = @analyses.alpha(processes)

          # A verdict looks at two statistics, median and mean, so each has half of the probability of an error.
          def alpha_of_each(processes) = alpha(processes) / 2

          def summarize(cell)
            per_process = shared(cell)
            median, mean = time(per_process), mean(per_process)
            base = { ns: median, mean_ns: mean, mad_ns: Statistics.mad(per_process.flatten).to_f, gc_ns: cell.gc_ns,
                     flags: flags(cell), slow: nil, ratio: nil, mean_ratio: nil, floor: nil, margin: nil, verdict: nil,
                     p_value: nil, needs: nil }
            Summary.new(**base, **compared(cell))
          end

          def compared(cell)
            reference = reference_of(cell)
            return {} unless reference
            logs = logs(cell, reference)
            return {} if logs.empty?
            median = interval(logs)
            mean = mean_ratio(cell, reference, logs.size)
            media = [cell.arm.contestant.medium, reference.arm.contestant.medium].uniq
            floor = @noise.values_at(*media).compact.map { |noise| noise.floor(logs.size) }.max
            margin = @protocol.margin_for(media, floor:)
            verdict = @protocol.verdict(median.exp, mean, margin:, floor: (floor unless cell.arm.role == :null))
            { ratio: median.exp, mean_ratio: mean, floor:, margin:, verdict:,
              slow: (slow(cell, reference) if Statistics::Verdict.apart?(median.exp, mean, 1.0 + margin)),
              p_value: Statistics::MedianInterval.p_value(logs),
              needs: (needs(median, mean, logs.size, margin) if verdict == :cannot_tell) }
          end

          def mean_ratio(cell, reference, processes)
            Paired.mean_ratio(@blocks[cell], @blocks[reference], alpha: alpha_of_each(processes))
          end

          # Looks for slow blocks in the arm, then in the arm that it is compared to.
          def slow(*cells)
            cells.each do |cell|
              costs = @blocks[cell].values.flat_map(&:values)
              found = Statistics::SlowBlocks.among(costs, calls: cell.slices.sum(&:calls).fdiv(costs.size))
              return found if found
            end
            nil
          end

          # Estimates by the median, or by the mean if only the mean is undecided.
          def needs(median, mean, processes, margin)
            open = @protocol.verdict(median.exp, margin:) == :cannot_tell
            open = open ? median : mean.map { |ratio| Math.log(ratio) }
            @protocol.needed(open, processes, distance: (open.estimate.abs - Math.log(1.0 + margin)).abs)
          end

          def reference_of(cell)
            return @by_id[cell.arm.twin_of] if cell.arm.role == :null
            @cells.find { |other| other.arm.role == :baseline } unless cell.arm.role == :baseline
          end

          def logs(cell, reference) = Paired.logs(@blocks[cell], @blocks[reference])

          def flags(cell)
            waits = %i[loopback remote].include?(cell.arm.contestant.medium)
            flags = { "compiling" => cell.compiling?, "unsteady" => cell.unsteady?,
                      "saturated" => waits && cell.cpu_share > Protocol::SATURATED_SHARE,
                      "incomplete" => @blocks[cell].size < @protocol.processes,
                      "hurried" => @blocks[cell].each_value.any? { |blocks| blocks.size < @protocol.blocks } }
            flags.select { |_flag, raised| raised }.keys
          end
        end
        private_constant :Summarizer
      end
    end
  end
end
