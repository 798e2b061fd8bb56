# frozen_string_literal: true

require_relative "paired"
require_relative "protocol"

module Tiercel
  module Lab
    module Engine
      # What a cell's blocks say.
      #
      # - `ns`: nanoseconds a call without garbage collection (an interval); `mad_ns`: median absolute deviation of the
      #   blocks; `gc_ns`: garbage collection a call, mean
      # - `ratio`: of the time to the baseline's, blocks paired (an interval); nil for the baseline
      # - `floor`: how far the same code came from itself (0.01: 1 %) in the media of both arms
      # - `margin`: what the `verdict` was given by, see {Protocol#margin_for}; `p_value`: that the ratio is 1
      # - `needs`: processes that would decide what could not be told; nil: it could be told, it is at its margin, or
      #   the run was a quick one
      # - `flags`: "compiling" (YJIT, inside a slice), "saturated" (the client's CPU), "incomplete" (fewer processes),
      #   "hurried" (fewer blocks)
      Summary = Data.define(:ns, :mad_ns, :gc_ns, :ratio, :floor, :margin, :verdict, :p_value, :needs, :flags)

      class Summary
        # Computes the summaries of cells whose comparisons are complete among them.
        #
        # @param cells [Array<Cell>]
        # @param protocol [Protocol]
        def self.fill(cells, protocol:)
          cells.group_by(&:comparison).each_value { |group| Summarizer.new(group, protocol).fill }
        end

        # @return [Hash{String => Object}] as the results hold it
        def record
          { "ns" => ns.record, "mad_ns" => mad_ns, "gc_ns" => gc_ns, "ratio" => ratio&.record, "floor" => floor,
            "threshold" => margin, "verdict" => verdict&.to_s, "p_value" => p_value, "needs" => needs,
            "flags" => flags }
        end

        # The summaries of one comparison.
        class Summarizer
          def initialize(cells, protocol)
            @cells = cells.select(&:measured?)
            @protocol = protocol
            @looks = protocol.looks
            @by_id = @cells.to_h { |cell| [cell.arm.id, cell] }
            @blocks = @cells.to_h { |cell| [cell, cell.block_ns] }
          end

          def fill
            nulls = @cells.select { |cell| cell.arm.role == :null && @by_id.key?(cell.arm.twin_of) }
            @floors = nulls.to_h { |cell| [cell.arm.contestant.medium, floor_of(cell)] }
            @cells.each { |cell| cell.summary = summarize(cell) }
          end

          private

          def floor_of(cell) = Math.exp(interval(logs(cell, @by_id[cell.arm.twin_of])).reach) - 1.0

          # As sure as the look has to be that had so many processes.
          def interval(processes) = Statistics::MedianInterval.of(processes, alpha: @looks.alpha(processes.size))

          def summarize(cell)
            per_process = @blocks[cell].values.map(&:values)
            base = { ns: interval(per_process), mad_ns: Statistics.mad(per_process.flatten).to_f, gc_ns: cell.gc_ns,
                     flags: flags(cell), ratio: nil, floor: nil, margin: nil, verdict: nil, p_value: nil, needs: nil }
            Summary.new(**base, **compared(cell))
          end

          def compared(cell)
            reference = reference_of(cell)
            return {} unless reference
            logs = logs(cell, reference)
            return {} if logs.empty?
            ratio = interval(logs)
            media = [cell.arm.contestant.medium, reference.arm.contestant.medium].uniq
            floor = @floors.values_at(*media).compact.max
            margin = @protocol.margin_for(media, floor:)
            verdict = @protocol.verdict(ratio.exp, margin:)
            { ratio: ratio.exp, floor:, margin:, verdict:, p_value: Statistics::MedianInterval.p_value(logs),
              needs: (needs(ratio, logs.size, margin) if verdict == :cannot_tell) }
          end

          def needs(ratio, processes, margin)
            @protocol.needed(ratio, processes, distance: (ratio.estimate.abs - Math.log(1.0 + margin)).abs)
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
