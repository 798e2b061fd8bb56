# frozen_string_literal: true

require_relative "outcome"
require_relative "steady_state"

module Tiercel
  module Lab
    module Engine
      # One arm of one comparison with its measurements: every slice of every block is kept.
      class Cell
        # One slice: its process, block and position; the number of calls; wall time, collection time and CPU time in
        # nanoseconds; the number of methods that YJIT compiled during it; the servers' CPU time, if the operation
        # measures it; the time that the process waited by itself (`wait_ns`) and the time that it and its servers were
        # in the run queue (`delay_ns`).
        Slice = Data.define(:process, :block, :position, :calls, :ns, :gc_ns, :cpu_ns, :compiled, :server_ns, :wait_ns,
                            :delay_ns) do
          def initialize(process:, block:, position:, calls:, ns:, gc_ns:, cpu_ns:, compiled:, server_ns: nil,
                         wait_ns: nil, delay_ns: nil) = super

          # The whole cost of the calls: it includes garbage collection, sleeping and waiting for locks, but not time in
          # the run queue.
          #
          # @param clock [Symbol] :cpu or :wall
          def cost_ns(clock)
            clock == :cpu ? cpu_ns + wait_ns.to_i : [ns - delay_ns.to_i, cpu_ns].max
          end

          # The cost without garbage collection. Ruby may report more collection time than a short slice took, so the
          # result is at least 0.
          def own_ns(clock) = [cost_ns(clock) - gc_ns, 0].max

          # @return [Array<Integer, nil>] the form of the results file
          def record
            values = to_h.values
            values.pop while values.last.nil?
            values
          end
        end

        attr_reader :comparison
        # @return [ArmSpec]
        attr_reader :arm
        # @return [String] a status of {Outcome}, or "unsuitable"
        attr_reader :status
        # @return [String, nil] the reason why there are no figures, and a command that helps
        attr_reader :reason
        # @return [Integer, nil] calls of a slice, and calls of the warm-up, as the first process found them
        attr_reader :calls, :warm_up
        # @return [Float, nil] objects that one call allocates
        attr_reader :allocations
        # @return [Integer, nil] the median
        def stored_bytes = bytes["stored_bytes"]

        # @return [Hash{String => Integer}] see {Arm#stored_bytes}
        def bytes = @bytes || {}

        # @return [Array<Slice>]
        attr_reader :slices
        # @return [Summary, nil]
        attr_accessor :summary
        # @return [Boolean] whether it has a verdict; later processes then skip it
        attr_accessor :decided
        alias decided? decided
        # @return [Array<Integer>] processes that ran while the machine was disturbed; the figures leave them out
        attr_accessor :aside

        def initialize(comparison, arm)
          @comparison = comparison
          @arm = arm
          @slices = []
          @aside = []
          @status = Outcome::MEASURED
        end

        def id = comparison.cell_id(arm)

        def sound? = status == Outcome::MEASURED

        def measured? = sound? && slices.any?

        # Records an outcome. One failure fails the cell, whatever the other processes measured.
        #
        # @param outcome [Hash{String => Object}] a worker's answer for this arm
        def note(outcome)
          unless Outcome.measured?(outcome)
            @status, @reason = outcome.values_at("status", "reason")
            return
          end
          @calls ||= outcome["calls"]
          @unsteady ||= outcome["unsteady"]
          @warm_up ||= outcome["warm_up"]
          @allocations ||= outcome["allocations"]
          @bytes ||= outcome["exact"]
        end

        # @return [Array<Slice>] the slices of all processes that are not set aside
        def used = aside.empty? ? slices : slices.reject { |slice| aside.include?(slice.process) }

        # Drops the slices of later processes, because an interrupted analysis does not count.
        #
        # @param processes [Integer] number of processes of the last complete analysis
        def keep(processes) = slices.select! { |slice| slice.process < processes }

        # @return [Symbol] :cpu or :wall
        def clock = arm.operation.clock || arm.contestant.clock

        # Nanoseconds of a call, one figure for each block. Garbage collection is included. Its moments are random, so
        # all blocks of a process share the process' collection time equally.
        #
        # @return [Hash{Integer => Hash{Integer => Float}}] by process, then block
        def block_ns
          used.group_by(&:process).transform_values do |of_process|
            collected = of_process.sum(&:gc_ns).fdiv(of_process.sum(&:calls))
            blocks = of_process.group_by(&:block).transform_values do |of_block|
              collected + of_block.sum { |slice| slice.own_ns(clock) }.fdiv(of_block.sum(&:calls))
            end
            blocks.drop(SteadyState.warm_up(blocks.values)).to_h
          end
        end

        # @return [Float] nanoseconds of garbage collection a call, mean of all slices
        def gc_ns = used.sum(&:gc_ns).fdiv(used.sum(&:calls))

        # @return [Float] share of the time that the worker was on the CPU
        def cpu_share = slices.sum(&:cpu_ns).fdiv(slices.sum(&:ns))

        # @return [Boolean] whether its cost still fell when the recording began
        def unsteady? = @unsteady ? true : false

        def compiling? = slices.any? { |slice| slice.compiled.positive? }

        # The form of the results file: plain Hashes with every slice; see schema/tiercel-lab-1.json.
        #
        # @return [Hash{String => Object}]
        def record
          twin = comparison.arms.find { |other| other.id == arm.twin_of }
          { "id" => id, "comparison" => comparison.id, "value" => comparison.value.name,
            "operation" => arm.operation.name, "contestant" => arm.contestant.describe, "role" => arm.role.to_s,
            "twin_of" => twin && comparison.cell_id(twin), "clock" => clock.to_s, "status" => status,
            "reason" => reason, "calls" => calls, "warm_up" => warm_up,
            "exact" => { "allocations" => allocations, "stored_bytes" => stored_bytes, **bytes },
            **(aside.any? ? { "aside" => aside } : {}), "slices" => slices.map(&:record), "summary" => summary&.record }
        end
      end
    end
  end
end
