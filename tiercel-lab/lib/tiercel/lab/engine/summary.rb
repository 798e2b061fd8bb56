# frozen_string_literal: true

require_relative "noise"
require_relative "paired"
require_relative "protocol"

module Tiercel
  module Lab
    module Engine
      # Summarizes a cell's blocks. Garbage collection is part of every figure, see {Cell#block_ns}.
      #
      # - `ns`: nanoseconds a call, median of the blocks (an interval); `mean_ns`: their mean (an interval over the
      #   processes); `mad_ns`: median absolute deviation of the blocks; `gc_ns`: the collector's part of a call, mean
      # - `ratio`: of the time to the baseline's, median of paired blocks (an interval); `mean_ratio`: of the means (an
      #   interval over the processes); both nil for the baseline
      # - `slow`: the blocks that part the mean from the median ({Statistics::SlowBlocks}), where they are apart
      # - `floor`: how far the same code came from itself (0.01: 1 %) in the media of both arms
      # - `margin`: what the `verdict` was given by, see {Protocol#margin_for}; `p_value`: that the ratio is 1
      # - `needs`: processes that would decide what could not be told; nil: it could be told, it is at its margin, or
      #   the run was a quick one
      # - `flags`: "compiling" (YJIT, inside a slice), "saturated" (the client's CPU), "incomplete" (fewer processes),
      #   "hurried" (fewer blocks)
      Summary = Data.define(:ns, :mean_ns, :mad_ns, :gc_ns, :ratio, :mean_ratio, :slow, :floor, :margin, :verdict,
                            :p_value, :needs, :flags)

      class Summary
        # Computes the summaries of cells whose comparisons are complete among them.
        #
        # @param cells [Array<Cell>]
        # @param protocol [Protocol]
        # @param run [Array<Cell>] all of the run, whose null arms are pooled
        def self.fill(cells, protocol:, run: cells)
          noise = Noise.of(run)
          cells.group_by(&:comparison).each_value { |group| Summarizer.new(group, protocol, noise).fill }
        end

        # @return [Hash{String => Object}] as the results hold it
        def record
          { "ns" => ns.record, "mean_ns" => mean_ns.record, "mad_ns" => mad_ns, "gc_ns" => gc_ns,
            "ratio" => ratio&.record, "mean_ratio" => mean_ratio&.record, "slow" => slow&.record, "floor" => floor,
            "threshold" => margin, "verdict" => verdict&.to_s, "p_value" => p_value, "needs" => needs,
            "flags" => flags }
        end

        # The summaries of one comparison.
        class Summarizer
          def initialize(cells, protocol, noise)
            @noise = noise
            @cells = cells.select(&:measured?)
            @protocol = protocol
            @looks = protocol.looks
            @by_id = @cells.to_h { |cell| [cell.arm.id, cell] }
            @blocks = @cells.to_h { |cell| [cell, cell.block_ns] }
          end

          def fill = @cells.each { |cell| cell.summary = summarize(cell) }

          private

          # Of the processes that all arms have: those of an arm that was decided late are other ones.
          def shared(cell)
            processes = @blocks.each_value.map(&:keys).reduce(:&)
            (processes.empty? ? @blocks[cell] : @blocks[cell].slice(*processes)).values.map(&:values)
          end

          # As sure as the look has to be that had so many processes.
          def interval(processes) = Statistics::MedianInterval.of(processes, alpha: @looks.alpha(processes.size))

          def mean(processes) = Statistics::MeanInterval.of(processes, alpha: @looks.alpha(processes.size))

          def summarize(cell)
            per_process = shared(cell)
            median, mean = interval(per_process), mean(per_process)
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
            median, mean = interval(logs), mean_ratio(cell, reference, logs.size)
            media = [cell.arm.contestant.medium, reference.arm.contestant.medium].uniq
            floor = @noise.values_at(*media).compact.map { |noise| noise.floor(logs.size) }.max
            margin = @protocol.margin_for(media, floor:)
            verdict = @protocol.verdict(median.exp, mean, margin:)
            { ratio: median.exp, mean_ratio: mean, floor:, margin:, verdict:,
              slow: (slow(cell, reference) if Statistics::Verdict.apart?(median.exp, mean, 1.0 + margin)),
              p_value: Statistics::MedianInterval.p_value(logs),
              needs: (needs(median, mean, logs.size, margin) if verdict == :cannot_tell) }
          end

          def mean_ratio(cell, reference, processes)
            Paired.mean_ratio(@blocks[cell], @blocks[reference], alpha: @looks.alpha(processes))
          end

          # Of the arm, or where that has none, of the one it is compared to.
          def slow(*cells)
            cells.each do |cell|
              costs = @blocks[cell].values.flat_map(&:values)
              found = Statistics::SlowBlocks.among(costs, calls: cell.slices.sum(&:calls).fdiv(costs.size))
              return found if found
            end
            nil
          end

          # By the median, unless that is decided and only the mean is not.
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
            flags = { "compiling" => cell.compiling?,
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
