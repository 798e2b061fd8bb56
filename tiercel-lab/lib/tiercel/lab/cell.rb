# frozen_string_literal: true

module Tiercel
  module Lab
    # One arm of one comparison with what was measured: every slice of every block is kept.
    class Cell
      # One slice.
      #
      # @!attribute [r] process
      #   @return [Integer]
      # @!attribute [r] block
      #   @return [Integer]
      # @!attribute [r] position
      #   @return [Integer] within the block
      # @!attribute [r] calls
      #   @return [Integer]
      # @!attribute [r] ns
      #   @return [Integer] wall clock
      # @!attribute [r] gc_ns
      #   @return [Integer] of it, garbage collection
      # @!attribute [r] cpu_ns
      #   @return [Integer] CPU time of the worker
      # @!attribute [r] compiled
      #   @return [Integer] methods that YJIT compiled meanwhile
      # @!attribute [r] server_ns
      #   @return [Integer, nil] CPU time of the servers, where the operation asks for it
      Slice = Data.define(:process, :block, :position, :calls, :ns, :gc_ns, :cpu_ns, :compiled, :server_ns) do
        def initialize(process:, block:, position:, calls:, ns:, gc_ns:, cpu_ns:, compiled:, server_ns: nil) = super

        # @param clock [Symbol] :cpu or :wall
        # @return [Integer] without garbage collection
        def net_ns(clock) = (clock == :cpu ? cpu_ns : ns) - gc_ns
      end

      # @return [Comparison]
      attr_reader :comparison
      # @return [ArmSpec]
      attr_reader :arm
      # @return [String] "measured", or why it was not: "cannot run", "misses", "wrong values", "unsuitable"
      attr_accessor :status
      # @return [String, nil] in words, with what to type where that helps
      attr_accessor :reason
      # @return [Integer, nil] calls for a slice, found in the first process
      attr_accessor :calls
      # @return [Integer, nil] calls made before, found in the first process
      attr_accessor :warm_up
      # @return [Float, nil] objects that one call allocates
      attr_accessor :allocations
      # @return [Integer, nil]
      attr_accessor :stored_bytes
      # @return [Array<Slice>]
      attr_reader :slices
      # @return [Summary, nil]
      attr_accessor :summary
      # @return [Boolean] whether it has been decided: further processes leave it out
      attr_accessor :settled
      alias settled? settled

      # @param comparison [Comparison]
      # @param arm [ArmSpec]
      def initialize(comparison, arm)
        @comparison = comparison
        @arm = arm
        @slices = []
        @status = "measured"
      end

      # @return [String]
      def id = comparison.cell_id(arm)

      # Forgets what later processes measured: a look that was interrupted is none.
      #
      # @param processes [Integer] of the last complete look
      # @return [void]
      def keep(processes) = slices.select! { |slice| slice.process < processes }

      # @return [Boolean]
      def measured? = status == "measured" && slices.any?

      # A cell that failed once has failed, whatever other processes said.
      #
      # @param outcome [Hash{String => Object}] a worker's answer on this arm
      # @return [void]
      def note(outcome)
        unless outcome["status"] == "ready"
          @status = outcome["status"]
          @reason = outcome["reason"]
          return
        end
        @calls ||= outcome["calls"]
        @warm_up ||= outcome["warm_up"]
        @allocations ||= outcome["allocations"]
        @stored_bytes ||= outcome["stored_bytes"]
      end

      # Nanoseconds a call by the contestant's clock, without garbage collection, one figure a block.
      #
      # @return [Hash{Integer => Hash{Integer => Float}}] by process, then block
      def block_ns
        slices.group_by(&:process).transform_values do |of_process|
          of_process.group_by(&:block).transform_values do |of_block|
            of_block.sum { |slice| slice.net_ns(arm.contestant.clock) }.fdiv(of_block.sum(&:calls))
          end
        end
      end

      # @return [Float] nanoseconds of garbage collection a call, mean of all slices
      def gc_ns = slices.sum(&:gc_ns).fdiv(slices.sum(&:calls))

      # @return [Float] share of the time that the worker was on the CPU
      def cpu_share = slices.sum(&:cpu_ns).fdiv(slices.sum(&:ns))

      # @return [Integer] slices in which YJIT compiled something
      def compiling_slices = slices.count { |slice| slice.compiled.positive? }
    end
  end
end
