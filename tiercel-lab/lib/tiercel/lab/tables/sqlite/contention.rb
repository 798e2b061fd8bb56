# frozen_string_literal: true

require_relative "../../load"
require_relative "../../statistics"

module Tiercel
  module Lab
    module Tables
      module Sqlite
        # Two processes at once on each store: fresh pairs, and all pairs in turn, then in reverse.
        class Contention < Load::Trial
          OPERATIONS = %w[write read].freeze
          # To start two processes and to build a store in each.
          OPEN_SECONDS = 3.0
          # From the command to work until both have heard it.
          START_SECONDS = 0.05

          # Two processes with one store between them; the first failure stays.
          Pair = Struct.new(:contestant, :value, :fleet, :outcome)

          # Rows have "rates" (calls a second of both processes together, a list for each pair of processes) and
          # "histogram" (ns of all calls).
          #
          # @param design [Design]
          # @param cpus [Array<Integer>]
          def initialize(design, cpus: Engine::Pinning.allowed_cpus, **)
            super(pinning: Engine::Pinning.new(cpus:), **)
            @design = design
            @cpus = cpus
            @contestants = design.shared_stores.map { |text| Contestants.parse(text) }
            @rows = design.shared_values.product(@contestants, OPERATIONS).map do |value, contestant, operation|
              blank(value:, store: contestant.name, text: contestant.text, operation:, rates: [], histogram: nil)
            end
          end

          private

          def measure
            @design.shared_values.product((0...@design.processes).to_a) { |value, process| with_pairs(value, process) }
          end

          def with_pairs(value, process)
            pairs = @contestants.map { |contestant| Pair.new(contestant, value, nil, blank) }
            pairs.each_with_index { |pair, index| open(pair, label(process, index)) }
            take_turns(pairs, process)
            pairs.each { |pair| on(pair) { |fleet| fleet.call("verify") } }
          ensure
            pairs&.each do |pair|
              OPERATIONS.each { |operation| note(row_of(pair, operation), pair.outcome) }
              pair.fleet&.stop
            end
          end

          # Of the second process: where there are only two CPUs, the one that servers have.
          def pinnings
            second = @cpus.size > 2 ? [@cpus[0], @cpus[2]] : @cpus.reverse
            [@cpus, second].map { |cpus| Engine::Pinning.new(cpus:) }
          end

          def open(pair, label)
            label = "#{label}-#{pair.value}"
            context = { servers: @pool.facts(pair.contestant.servers), folders: @scratch.folders, label:, shared: true }
            on(pair) do
              pair.fleet = Load::Fleet.new(pinnings.map do |pinning|
                job("load/client", bundle: pair.contestant.bundle, pinning:)
              end)
              pair.fleet.open(text: pair.contestant.text, context:, filled: true) do |index|
                { entries: { label: "#{label}-#{index}", value: pair.value, seed: @seed } }
              end
              pair.fleet.call("warm_up", operations: OPERATIONS)
            end
            @progress.advance(OPEN_SECONDS, "two processes with #{pair.contestant.name}")
          end

          def take_turns(pairs, process)
            order = in_turn(pairs, process)
            @design.rounds.times do |round|
              turn = round.even? ? order : order.reverse
              turn.product(OPERATIONS) { |pair, operation| work(pair, operation, process) }
            end
          end

          # Both at once.
          def work(pair, operation, process)
            on(pair) do |fleet|
              arrivals = { seconds: @design.seconds, at: Load::Fleet.soon }
              keep(row_of(pair, operation), fleet.call("drive", operation:, arrivals:, measure: "histogram"), process)
            end
            @progress.advance(@design.seconds + START_SECONDS,
                              "two processes #{operation} with #{pair.contestant.name}")
          end

          def keep(row, answers, process)
            (row["rates"][process] ||= []) << answers.sum { |answer| answer["requests"] / answer["seconds"] }
            all = [row["histogram"], *answers.map { |answer| answer["service"] }].compact
            row["histogram"] = all.map { |one| Statistics::Histogram.from_h(one) }.reduce(:merge!).to_h
          end

          def row_of(pair, operation)
            rows.find do |row|
              row.values_at("value", "text", "operation") == [pair.value, pair.contestant.text, operation]
            end
          end

          def on(pair)
            return unless measured?(pair.outcome)
            note(pair.outcome, attempt { yield(pair.fleet) && {} })
          end
        end
      end
    end
  end
end
