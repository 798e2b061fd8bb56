# frozen_string_literal: true

require_relative "cell"
require_relative "comparison"
require_relative "protocol"
require_relative "summary"
require_relative "runner/crew"
require_relative "runner/disturbance"
require_relative "runner/pace"
require_relative "runner/pinning"
require_relative "runner/scratch"
require_relative "runner/server_pool"
require_relative "runner/round"

module Tiercel
  module Lab
    # Measures comparisons: starts the servers, then for each value
    # {Protocol#processes} rounds of fresh workers, each of which goes through
    # all comparisons on that value.
    #
    #   measurement = Measurement.new(comparisons, protocol: Protocol::QUICK, seed: 1)
    #   measurement.run { |value, cells| ... }   # a value's cells, as soon as they are complete
    #   measurement.cells
    class Measurement
      # @return [Array<Cell>] in the order planned
      attr_reader :cells
      # @return [Hash{String => String}] SHA-256 of each value's objects, by the value's name
      attr_reader :digests
      # @return [Array<Hash>] of the servers that were started
      attr_reader :servers
      # @return [Array<Hash>] shares of steal and pressure, one for each round
      attr_reader :disturbances
      # @return [Runner::Pinning]
      attr_reader :pinning

      # @param comparisons [Array<Comparison>]
      # @param protocol [Protocol]
      # @param seed [Integer]
      # @param requires [Array<String>] files with contestants of the user's
      # @param progress [#advance, #say, nil]
      # @param pinning [Runner::Pinning]
      def initialize(comparisons, protocol:, seed:, requires: [], progress: nil, pinning: Runner::Pinning.new)
        @comparisons = comparisons
        @protocol = protocol
        @seed = seed
        @requires = requires
        @progress = progress
        @pinning = pinning
        @digests = {}
        @servers = []
        @disturbances = []
        @cells = comparisons.flat_map { |comparison| comparison.arms.map { |arm| Cell.new(comparison, arm) } }
      end

      # @yieldparam value [Value]
      # @yieldparam cells [Array<Cell>] of this value, summarized
      # @return [Array<Cell>] all of them
      # @raise [Interrupt] after the cells measured so far were summarized and yielded
      def run(&on_value)
        expected_seconds = @comparisons.sum { |comparison| comparison.expected_seconds(@protocol) }
        @pace = Runner::Pace.new(expected_seconds:, budget_seconds: @protocol.budget_seconds)
        with_resources do |pool, scratch|
          @comparisons.group_by(&:value).each do |value, comparisons|
            measure_value(value, comparisons, pool, scratch, &on_value)
          end
        end
        cells
      end

      private

      def with_resources
        pool = Runner::ServerPool.new(pinning:)
        scratch = Runner::Scratch.new
        yield pool, scratch
      ensure
        @servers = pool.describe
        pool.stop
        scratch&.remove
      end

      def measure_value(value, comparisons, pool, scratch)
        @protocol.processes.times do |process|
          disturbance = Runner::Disturbance.new
          Runner::Round.new(process:, comparisons:, cells: @cells, protocol: @protocol, seed: @seed, pool:, scratch:,
                            requires: @requires, progress: @progress, pinning:, digests: @digests, pace: @pace).run
          @disturbances << disturbance.shares.merge("value" => value.name, "process" => process)
        end
      ensure
        mine = @cells.select { |cell| cell.comparison.value.equal?(value) }
        Summary.fill(mine, protocol: @protocol, seed: @seed)
        yield value, mine if block_given?
      end
    end
  end
end
