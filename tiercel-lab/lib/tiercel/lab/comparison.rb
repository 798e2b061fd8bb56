# frozen_string_literal: true

require_relative "arm_spec"
require_relative "contestants"
require_relative "operations"
require_relative "values"

module Tiercel
  module Lab
    # Arms that are measured against each other, interleaved, on one value.
    #
    #   Comparison.of(value: Values.fetch("html-2kb"), operation: Operations.fetch("read"),
    #                 contestants: [...], baseline: contestants.first)
    #
    # Arms may have different operations (a backend's get against
    # MemoryStore#read): see {Comparison.between}.
    class Comparison
      # @return [Value]
      attr_reader :value
      # @return [Array<ArmSpec>] the baseline first
      attr_reader :arms

      # The same operation on several contestants.
      #
      # @param value [Value]
      # @param operation [Operation]
      # @param contestants [Array<Contestant>]
      # @param baseline [Contestant] one of them
      # @param loop [Boolean] whether the empty loop is an arm too
      # @return [Comparison]
      def self.of(value:, operation:, contestants:, baseline:, loop: false)
        others = contestants.reject { |contestant| contestant.equal?(baseline) }
        between(value:, baseline: [baseline, operation], others: others.map { |other| [other, operation] }, loop:)
      end

      # Any pairs of contestant and operation.
      #
      # @param value [Value]
      # @param baseline [Array(Contestant, Operation)]
      # @param others [Array<Array(Contestant, Operation)>]
      # @param loop [Boolean]
      # @return [Comparison]
      def self.between(value:, baseline:, others:, loop: false)
        rows = [[*baseline, :baseline, nil], *others.map { |pair| [*pair, :contestant, nil] }]
        rows += null_arms(rows)
        rows << [baseline.first, Operations.fetch("loop"), :loop, nil] if loop
        new(value:, arms: rows.each_with_index.map { |(contestant, operation, role, twin_of), id|
          ArmSpec.new(id:, contestant:, operation:, role:, twin_of:)
        })
      end

      # One for each medium: its first arm once more.
      def self.null_arms(rows)
        rows.each_with_index.uniq { |(contestant), _id| contestant.medium }
            .map { |(contestant, operation), id| [contestant, operation, :null, id] }
      end
      private_class_method :null_arms

      # @param value [Value]
      # @param arms [Array<ArmSpec>]
      def initialize(value:, arms:)
        @value = value
        @arms = arms
      end

      # @return [ArmSpec]
      def baseline = arms.find { |arm| arm.role == :baseline }

      # @return [Operation] the baseline's
      def operation = baseline.operation

      # @return [String] identifies it within a run
      def id = "#{value.name}/#{arms.select(&:row?).map { |arm| arm.operation.name }.uniq.join("+")}"

      # @param arm [ArmSpec]
      # @return [String] identifies the arm within a run
      def cell_id(arm) = "#{value.name}/#{arm.operation.name}/#{arm.name}"

      # @return [Array<Symbol>] servers that its contestants need
      def servers = arms.flat_map { |arm| arm.contestant.servers }.uniq

      # @return [Hash{String, nil => Array<ArmSpec>}] arms by the bundle of their worker
      def bundles = arms.group_by { |arm| arm.contestant.bundle }

      # @param protocol [Protocol]
      # @param arms [Array<ArmSpec>] those that take part
      # @param processes [Integer]
      # @return [Float] roughly
      def expected_seconds(protocol, arms: self.arms, processes: protocol.processes)
        slice = protocol.slice_ns / 1e9
        per_process = (arms.size * Protocol::PREPARE_SECONDS) +
                      (protocol.blocks * ((arms.size * 2 * slice) + Protocol::BLOCK_SECONDS))
        per_process * processes * (value.large? ? Protocol::LARGE_FACTOR : 1)
      end
    end
  end
end
