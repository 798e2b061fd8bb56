# frozen_string_literal: true

require_relative "outcome"

module Tiercel
  module Lab
    module Engine
      # One arm of one comparison with what was measured: every slice of every block is kept.
      class Cell
        # One slice: of which process and block, at which position in it; calls made; wall clock, garbage collection in
        # it and CPU time of the arm's process, in nanoseconds; methods that YJIT compiled meanwhile; CPU time of the
        # servers, where the operation asks for it; and how long the process waited of its own accord (`wait_ns`), and
        # for a CPU that others had (`delay_ns`).
        Slice = Data.define(:process, :block, :position, :calls, :ns, :gc_ns, :cpu_ns, :compiled, :server_ns, :wait_ns,
                            :delay_ns) do
          def initialize(process:, block:, position:, calls:, ns:, gc_ns:, cpu_ns:, compiled:, server_ns: nil,
                         wait_ns: nil, delay_ns: nil) = super

          # All that the calls cost: collection, and sleeping or waiting for locks, but not the time that others had.
          #
          # @param clock [Symbol] :cpu or :wall
          def cost_ns(clock) = clock == :cpu ? cpu_ns + wait_ns.to_i : ns

          # The same without collection. In a slice of few calls Ruby may report more collection than the slice took.
          def own_ns(clock) = [cost_ns(clock) - gc_ns, 0].max

          # @return [Array<Integer, nil>] as the results hold it
          def record
            values = to_h.values
            values.pop while values.last.nil?
            values
          end
        end

        attr_reader :comparison
        # @return [ArmSpec]
        attr_reader :arm
        # @return [String] of {Outcome}, or "unsuitable"
        attr_reader :status
        # @return [String, nil] why there are no figures, with what to type where that helps
        attr_reader :reason
        # @return [Integer, nil] calls for a slice, and calls made before: found in the first process
        attr_reader :calls, :warm_up
        # @return [Float, nil] objects that one call allocates
        attr_reader :allocations
        # @return [Integer, nil]
        attr_reader :stored_bytes
        # @return [Array<Slice>]
        attr_reader :slices
        # @return [Summary, nil]
        attr_accessor :summary
        # @return [Boolean] whether it has been decided: further processes leave it out
        attr_accessor :settled
        alias settled? settled
        # @return [Array<Integer>] processes during which the machine was disturbed: kept, but in no figure
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

        # A cell that failed once has failed, whatever other processes said.
        #
        # @param outcome [Hash{String => Object}] a worker's answer on this arm
        def note(outcome)
          unless Outcome.measured?(outcome)
            @status, @reason = outcome.values_at("status", "reason")
            return
          end
          @calls ||= outcome["calls"]
          @warm_up ||= outcome["warm_up"]
          @allocations ||= outcome["allocations"]
          @stored_bytes ||= outcome["stored_bytes"]
        end

        # @return [Array<Slice>] without those of processes that were set aside
        def used = aside.empty? ? slices : slices.reject { |slice| aside.include?(slice.process) }

        # Forgets what later processes measured: a look that was interrupted is none.
        #
        # @param processes [Integer] of the last complete look
        def keep(processes) = slices.select! { |slice| slice.process < processes }

        # @return [Symbol] :cpu or :wall
        def clock = arm.operation.clock || arm.contestant.clock

        # Nanoseconds a call by its clock, one figure a block. Garbage collection is part of it: when the collector runs
        # is chance, so the blocks of a process share what it took in all of them.
        #
        # @return [Hash{Integer => Hash{Integer => Float}}] by process, then block
        def block_ns
          used.group_by(&:process).transform_values do |of_process|
            collected = of_process.sum(&:gc_ns).fdiv(of_process.sum(&:calls))
            of_process.group_by(&:block).transform_values do |of_block|
              collected + of_block.sum { |slice| slice.own_ns(clock) }.fdiv(of_block.sum(&:calls))
            end
          end
        end

        # @return [Float] nanoseconds of garbage collection a call, mean of all slices
        def gc_ns = used.sum(&:gc_ns).fdiv(used.sum(&:calls))

        # @return [Float] share of the time that the worker was on the CPU
        def cpu_share = slices.sum(&:cpu_ns).fdiv(slices.sum(&:ns))

        def compiling? = slices.any? { |slice| slice.compiled.positive? }

        # As the results hold it: plain Hashes, every slice kept; see schema/tiercel-lab-1.json.
        #
        # @return [Hash{String => Object}]
        def record
          twin = comparison.arms.find { |other| other.id == arm.twin_of }
          { "id" => id, "comparison" => comparison.id, "value" => comparison.value.name,
            "operation" => arm.operation.name, "contestant" => arm.contestant.describe, "role" => arm.role.to_s,
            "twin_of" => twin && comparison.cell_id(twin), "clock" => clock.to_s, "status" => status,
            "reason" => reason, "calls" => calls, "warm_up" => warm_up,
            "exact" => { "allocations" => allocations, "stored_bytes" => stored_bytes },
            **(aside.any? ? { "aside" => aside } : {}), "slices" => slices.map(&:record), "summary" => summary&.record }
        end
      end
    end
  end
end
