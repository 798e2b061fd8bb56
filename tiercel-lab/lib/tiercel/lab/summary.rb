# frozen_string_literal: true

require_relative "statistics"

module Tiercel
  module Lab
    # What a cell's blocks say.
    #
    # @!attribute [r] ns
    #   @return [Statistics::Interval] nanoseconds a call without garbage collection
    # @!attribute [r] mad_ns
    #   @return [Float] median absolute deviation of the blocks
    # @!attribute [r] gc_ns
    #   @return [Float] garbage collection a call, mean
    # @!attribute [r] ratio
    #   @return [Statistics::Interval, nil] of the time to the baseline's, blocks paired; nil for the baseline
    # @!attribute [r] floor
    #   @return [Float, nil] how far the same code came from itself (0.01: 1 %) in the media of both arms
    # @!attribute [r] threshold
    #   @return [Float, nil] least difference that is called one
    # @!attribute [r] verdict
    #   @return [Symbol, nil] see {Statistics::Verdict}
    # @!attribute [r] p_value
    #   @return [Float, nil] that the ratio is 1, from the same resamples
    # @!attribute [r] flags
    #   @return [Array<String>] "compiling" (YJIT, inside a slice), "saturated" (the client's CPU),
    #     "incomplete" (fewer processes), "hurried" (fewer blocks)
    Summary = Data.define(:ns, :mad_ns, :gc_ns, :ratio, :floor, :threshold, :verdict, :p_value, :flags)

    class Summary
      # Computes the summaries of cells whose comparisons are complete among them.
      #
      # @param cells [Array<Cell>]
      # @param protocol [Protocol]
      # @param seed [Integer]
      # @return [void]
      def self.fill(cells, protocol:, seed:)
        bootstrap = Statistics::Bootstrap.new(seed:)
        cells.group_by(&:comparison).each_value { |group| Summarizer.new(group, protocol, bootstrap).fill }
      end

      # The summaries of one comparison.
      #
      # @private
      class Summarizer
        def initialize(cells, protocol, bootstrap)
          @cells = cells.select(&:measured?)
          @protocol = protocol
          @bootstrap = bootstrap
          @by_id = @cells.to_h { |cell| [cell.arm.id, cell] }
          @blocks = @cells.to_h { |cell| [cell, cell.block_ns] }
        end

        def fill
          nulls = @cells.select { |cell| cell.arm.role == :null && @by_id.key?(cell.arm.twin_of) }
          @floors = nulls.to_h { |cell| [cell.arm.contestant.medium, floor_of(cell)] }
          @cells.each { |cell| cell.summary = summarize(cell) }
        end

        private

        def floor_of(cell)
          interval = @bootstrap.interval(log_ratios(cell, @by_id[cell.arm.twin_of]))
          Math.exp(interval.reach) - 1.0
        end

        def summarize(cell)
          per_process = @blocks[cell].values.map(&:values)
          flat = per_process.flatten
          base = { ns: @bootstrap.interval(per_process), mad_ns: Statistics.mad(flat).to_f, gc_ns: cell.gc_ns,
                   flags: flags(cell), ratio: nil, floor: nil, threshold: nil, verdict: nil, p_value: nil }
          Summary.new(**base, **compared(cell))
        end

        def compared(cell)
          reference = reference_of(cell)
          return {} unless reference
          logs = log_ratios(cell, reference)
          return {} if logs.empty?
          ratio = @bootstrap.interval(logs).exp
          media = [cell.arm.contestant.medium, reference.arm.contestant.medium].uniq
          floor = @floors.values_at(*media).compact.max
          threshold = [@protocol.threshold_for(media), Protocol::FLOORS * floor.to_f].max
          { ratio:, floor:, threshold:, p_value: @bootstrap.p_value(logs),
            verdict: Statistics::Verdict.of(ratio, threshold:, equality: @protocol.equality) }
        end

        def reference_of(cell)
          return @by_id[cell.arm.twin_of] if cell.arm.role == :null
          @cells.find { |other| other.arm.role == :baseline } unless cell.arm.role == :baseline
        end

        # One list of block log ratios for each process that has blocks of both.
        def log_ratios(cell, reference)
          theirs = @blocks[reference]
          @blocks[cell].filter_map do |process, blocks|
            logs = blocks.filter_map do |block, ns|
              other = theirs.dig(process, block)
              Math.log(ns / other) if other
            end
            logs unless logs.empty?
          end
        end

        def flags(cell)
          waits = %i[loopback remote].include?(cell.arm.contestant.medium)
          flags = { "compiling" => cell.compiling_slices.positive?,
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
