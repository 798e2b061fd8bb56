# frozen_string_literal: true

require_relative "cell"
require_relative "comparison"
require_relative "protocol"
require_relative "summary"
require_relative "worker_pool"
require_relative "disturbance"
require_relative "pace"
require_relative "pinning"
require_relative "round"
require_relative "rounds"
require_relative "scratch"
require_relative "server_pool"

module Tiercel
  module Lab
    module Engine
      # Measures comparisons. It starts the servers. For each value it then runs {Protocol#processes} rounds; the fresh
      # workers of a round go through all comparisons of the value.
      #
      #   measurement = Measurement.new(comparisons, protocol: Protocol::QUICK, seed: 1)
      #   measurement.run { |value, cells| ... }   # yields a value's cells as soon as they are complete
      #   measurement.cells
      class Measurement
        # Whether a cell has a verdict.
        VERDICT = ->(cell) { cell.summary.verdict != :cannot_tell }

        # Estimates the time of comparisons and of their workers.
        #
        # @param comparisons [Array<Comparison>]
        # @return [Float] seconds
        def self.expected_seconds(comparisons, protocol)
          all = seconds_of(comparisons, protocol)
          return all unless protocol.budget_seconds
          least = seconds_of(comparisons, protocol.with(blocks: protocol.least_blocks))
          [all, [least, protocol.budget_seconds].max].min
        end

        def self.seconds_of(comparisons, protocol)
          workers = comparisons.group_by(&:value).each_value.sum do |of_value|
            of_value.flat_map { |comparison| comparison.bundles.keys }.uniq.size
          end
          comparisons.sum { |comparison| comparison.expected_seconds(protocol) } +
            (workers * protocol.processes * Protocol::WORKER_SECONDS)
        end
        private_class_method :seconds_of

        # @return [Array<Cell>] in the order planned
        attr_reader :cells
        # @return [Hash{String => String}] SHA-256 of each value's objects, by the value's name
        attr_reader :digests
        # @return [Array<Hash>] the started servers
        attr_reader :servers
        # @return [Array<Hash>] shares of steal and CPU pressure, one for each round
        attr_reader :disturbances
        # @return [Pinning]
        attr_reader :pinning
        attr_writer :progress

        # @param comparisons [Array<Comparison>]
        # @param protocol [Protocol]
        # @param seed [Integer]
        # @param requires [Array<String>] files with contestants of the user's
        # @param progress [#advance, #expect, #say, nil]
        # @param pinning [Pinning]
        # @param decided [#call] whether a cell needs no more processes; by default, whether it has a verdict
        def initialize(comparisons, protocol:, seed:, requires: [], progress: nil, pinning: Pinning.new,
                       decided: VERDICT)
          @comparisons = comparisons
          @protocol = protocol
          @seed = seed
          @requires = requires
          @progress = progress
          @pinning = pinning
          @decided = decided
          @digests = {}
          @servers = []
          @disturbances = []
          @cells = comparisons.flat_map { |comparison| comparison.arms.map { |arm| Cell.new(comparison, arm) } }
        end

        # @yieldparam value [Value]
        # @yieldparam cells [Array<Cell>] cells of this value, with summaries
        # @return [Array<Cell>] all of them
        # @raise [Interrupt] after it has summarized and yielded the cells measured so far
        def run(&on_value)
          expected_seconds = @comparisons.sum { |comparison| comparison.expected_seconds(@protocol) }
          @pace = Pace.new(expected_seconds:, budget_seconds: @protocol.budget_seconds)
          with_resources do |pool, scratch|
            @comparisons.group_by(&:value).each do |value, comparisons|
              measure_value(value, comparisons, pool, scratch, &on_value)
            end
          end
          cells
        end

        private

        def with_resources
          pool = ServerPool.new(pinning:)
          scratch = Scratch.new
          yield pool, scratch
        ensure
          @servers = pool.describe
          pool.stop
          scratch&.remove
        end

        # Cells that an analysis decides take no part in later rounds, see {Statistics::InterimAnalyses}.
        def measure_value(value, comparisons, pool, scratch)
          mine = @cells.select { |cell| cell.comparison.value.equal?(value) }
          open, done = comparisons, 0
          rounds = Rounds.new { |process| round(process, value, open, pool, scratch, mine) }
          @protocol.analyses.sizes.each do |size|
            open = comparisons.reject { |comparison| comparison_decided?(comparison, mine) }
            break if open.empty? || !time_for?(open, mine, size - rounds.made, first: done.zero?)
            rounds.make(size, again: @protocol.equality) { time_for?(open, mine, 1, first: false) }
            done = rounds.made
            use(rounds.aside(size), value, mine)
            Summary.fill(mine, protocol: @protocol, run: @cells)
            mark_decided(mine)
          end
        ensure
          mine.each { |cell| cell.keep(done) } if done.positive?
          Summary.fill(mine, protocol: @protocol, run: @cells)
          yield value, mine if block_given?
        end

        def use(aside, value, cells)
          cells.each { |cell| cell.aside = aside unless cell.decided? }
          @disturbances.each do |round|
            round["aside"] = aside.include?(round["process"]) if round["value"] == value.name
          end
        end

        # @return [Float] the share of the round's time that other programs took
        def round(process, value, comparisons, pool, scratch, cells)
          disturbance = Disturbance.new
          Round.new(process:, comparisons:, cells: @cells, protocol: @protocol, seed: @seed, pool:, scratch:,
                            requires: @requires, progress: @progress, pinning:, digests: @digests, pace: @pace).run
          found = { "delay" => delay(cells.flat_map(&:slices).select { |slice| slice.process == process }),
                    **disturbance.shares }
          @disturbances << found.merge("value" => value.name, "process" => process)
          found.values_at("delay", "steal").sum(&:to_f)
        end

        # The share of the slices' time that the arms spent in the run queue.
        def delay(slices)
          told = slices.select(&:delay_ns)
          told.sum(&:delay_ns).fdiv(told.sum(&:ns)).round(4) if told.any?
        end

        # The baseline and its null arm stay open as long as one contestant is undecided.
        def mark_decided(cells)
          cells.group_by(&:comparison).each_value do |group|
            rows, others = group.partition { |cell| cell.arm.role == :contestant }
            rows.each { |cell| cell.decided = !cell.measured? || @decided.call(cell) }
            others.each { |cell| cell.decided = cell.arm.role == :loop || rows.all?(&:decided?) }
          end
        end

        def comparison_decided?(comparison, cells)
          cells.all? { |cell| cell.decided? || !cell.comparison.equal?(comparison) }
        end

        # Additional rounds exceed the plan, so a run drops them if its budget has no room.
        def time_for?(comparisons, cells, processes, first:)
          return true if first
          seconds = comparisons.sum do |comparison|
            open = cells.select { |cell| cell.comparison.equal?(comparison) && !cell.decided? }
            comparison.expected_seconds(@protocol, arms: open.map(&:arm), processes:) +
              (processes * Protocol::WORKER_SECONDS)
          end
          return false unless @pace.room?(seconds)
          @progress&.expect(seconds)
          true
        end
      end
    end
  end
end
