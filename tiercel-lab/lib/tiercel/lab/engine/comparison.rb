# frozen_string_literal: true

require_relative "../operations"
require_relative "../stores"
require_relative "../values"
require_relative "protocol"

module Tiercel
  module Lab
    module Engine
      # An arm in the plan of a comparison.
      #
      # @!attribute [r] id
      #   @return [Integer] number within its comparison
      # @!attribute [r] role
      #   @return [Symbol] :baseline, :contestant, :null (a second copy of another arm), or :loop (no store)
      # @!attribute [r] twin_of
      #   @return [Integer, nil] the arm that a null arm copies
      ArmSpec = Data.define(:id, :contestant, :operation, :role, :twin_of) do
        # @return [Boolean] whether it has a row in the tables
        def row? = %i[baseline contestant].include?(role)

        def name
          case role
          when :null then "#{contestant.name} (again)"
          when :loop then "loop"
          else contestant.name
          end
        end
      end

      # Arms that are measured against each other on one value, in turns.
      #
      #   Comparison.of(value: Values.fetch("html-2kb"), operation: Operations.fetch("read"), contestants: [...])
      #
      # Arms may have different operations (a backend's get against MemoryStore#read): see {Comparison.between}.
      class Comparison
        attr_reader :value
        # @return [Array<ArmSpec>] the baseline first
        attr_reader :arms

        # Compares the same operation on several contestants.
        #
        # @param contestants [Array<Contestant>]
        # @param baseline [Contestant] one of them
        # @param loop [Boolean] whether to measure the bare loop too
        def self.of(value:, operation:, contestants:, baseline: contestants.first, loop: false)
          others = contestants.reject { |contestant| contestant.equal?(baseline) }
          between(value:, baseline: [baseline, operation], others: others.map { |other| [other, operation] }, loop:)
        end

        # Compares any pairs of contestant and operation.
        #
        # @param baseline [Array(Contestant, Operation)]
        # @param others [Array<Array(Contestant, Operation)>]
        def self.between(value:, baseline:, others:, loop: false)
          rows = [[*baseline, :baseline, nil], *others.map { |pair| [*pair, :contestant, nil] }]
          rows += null_arms(rows)
          rows << [baseline.first, Operations.fetch("loop"), :loop, nil] if loop
          rows(value, rows)
        end

        # @param rows [Array<Array(Contestant, Operation, Symbol, Integer)>] contestant, operation, role and twin
        def self.rows(value, rows)
          new(value:, arms: rows.each_with_index.map { |(contestant, operation, role, twin_of), id|
            ArmSpec.new(id:, contestant:, operation:, role:, twin_of:)
          })
        end

        # One null arm for each medium: a second copy of the medium's first arm.
        def self.null_arms(rows)
          rows.each_with_index.uniq { |(contestant), _id| contestant.medium }
              .map { |(contestant, operation), id| [contestant, operation, :null, id] }
        end
        private_class_method :null_arms

        def initialize(value:, arms:)
          @value = value
          @arms = arms
        end

        def baseline = arms.find { |arm| arm.role == :baseline }

        def operation = baseline.operation

        def id = "#{value.name}/#{arms.select(&:row?).map { |arm| arm.operation.name }.uniq.join("+")}"

        def cell_id(arm) = "#{value.name}/#{arm.operation.name}/#{arm.name}"

        # @return [Array<Symbol>] servers that the arms need
        def servers = arms.flat_map { |arm| arm.contestant.servers }.uniq

        # @return [Hash{String, nil => Array<ArmSpec>}] arms by the bundle of their worker
        def bundles = arms.group_by { |arm| arm.contestant.bundle }

        # @param arms [Array<ArmSpec>] the arms to measure
        # @return [Float] an estimate
        def expected_seconds(protocol, arms: self.arms, processes: protocol.processes)
          of_arm = Protocol::PREPARE_SECONDS + (protocol.slices * protocol.slice_ns / 1e9)
          per_process = (arms.size * of_arm) + (protocol.blocks * Protocol::BLOCK_SECONDS)
          per_process * processes * (value.large? ? Protocol::LARGE_FACTOR : 1)
        end
      end
    end
  end
end
