# frozen_string_literal: true

require_relative "../runner/pinning"
require_relative "../runner/scratch"
require_relative "../runner/server_pool"
require_relative "../statistics/histogram"
require_relative "design"
require_relative "pair"

module Tiercel
  module Lab
    module Sqlite
      # Two processes at once on each store: fresh pairs, and all pairs in turn, then in reverse.
      class Contention
        # @return [Array<Hash{String => Object}>] one for each store, value and operation: "rates" (calls a second of
        #   both processes together, a list for each pair of processes) and "histogram" (ns of all calls)
        attr_reader :rows

        # @param design [Design]
        # @param seed [Integer]
        # @param requires [Array<String>]
        # @param cpus [Array<Integer>] that this process may use
        def initialize(design, seed:, requires: [], cpus: Runner::Pinning.allowed_cpus)
          @design = design
          @seed = seed
          @requires = requires
          @cpus = cpus
          @contestants = design.shared_contestants
          @rows = design.shared_values.product(@contestants, Design::OPERATIONS).map { |facts| blank(*facts) }
        end

        # @param progress [#advance]
        # @return [void]
        def run(progress)
          @progress = progress
          @pool = Runner::ServerPool.new(pinning: Runner::Pinning.new(cpus: @cpus))
          @scratch = Runner::Scratch.new
          @design.shared_values.product((0...@design.processes).to_a) { |value, process| with_pairs(value, process) }
        ensure
          @pool&.stop
          @scratch&.remove
        end

        private

        def blank(value, contestant, operation)
          { "value" => value, "store" => contestant.name, "text" => contestant.text, "operation" => operation,
            "status" => "measured", "reason" => nil, "rates" => [], "histogram" => nil }
        end

        # Of the second process: where there are only two CPUs, the one that servers have.
        def pinnings
          second = @cpus.size > 2 ? [@cpus[0], @cpus[2]] : @cpus.reverse
          [@cpus, second].map { |cpus| Runner::Pinning.new(cpus:) }
        end

        def with_pairs(value, process)
          pairs = @contestants.map { |contestant| Pair.new(contestant, value, pinnings:, requires: @requires) }
          pairs.each { |pair| pair.start(progress: @progress) }
          pairs.each_with_index { |pair, index| open(pair, format("%d-%02d-%02d", Process.pid, process, index)) }
          take_turns(pairs, process)
          pairs.each(&:verify)
        ensure
          pairs&.each { |pair| note(pair) }
          pairs&.each(&:stop)
        end

        def open(pair, label)
          servers = @pool.facts(pair.contestant.servers)
          pair.open(label: "#{label}-#{pair.value}", seed: @seed, servers:, folders: @scratch.folders)
          @progress.advance(Design::OPEN_SECONDS, "two processes with #{pair.contestant.name}")
        end

        def take_turns(pairs, process)
          order = pairs.shuffle(random: Random.new(@seed + (process / 2)))
          order.reverse! if process.odd?
          @design.rounds.times do |round|
            (round.even? ? order : order.reverse).product(Design::OPERATIONS) do |pair, operation|
              work(pair, operation, process)
            end
          end
        end

        def work(pair, operation, process)
          answers = pair.work(operation, @design.seconds)
          @progress.advance(@design.seconds + Design::START_SECONDS, "two processes #{operation} with " \
                                                                     "#{pair.contestant.name}")
          return unless answers
          row = row_of(pair, operation)
          (row["rates"][process] ||= []) << answers.sum { |answer| answer["calls"] / answer["seconds"] }
          histogram = row["histogram"] ? Statistics::Histogram.from_h(row["histogram"]) : Statistics::Histogram.new
          answers.each { |answer| answer["ns"].each { |ns| histogram.record(ns) } }
          row["histogram"] = histogram.to_h
        end

        def row_of(pair, operation)
          rows.find do |row|
            row.values_at("value", "text", "operation") == [pair.value, pair.contestant.text, operation]
          end
        end

        # A pair that failed once has failed.
        def note(pair)
          return if pair.sound?
          Design::OPERATIONS.each { |operation| row_of(pair, operation).update(pair.outcome) }
        end
      end
    end
  end
end
