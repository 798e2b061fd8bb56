# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Sqlite
        # Measures each store with two concurrent processes. All pairs of processes take turns, in order and in reverse.
        class Contention < Load::Trial
          OPERATIONS = %w[write read].freeze
          # Starting two processes, and building a store in each.
          OPEN_SECONDS = 3.0
          # The time until both processes have received their command.
          START_SECONDS = 0.05

          # Two processes with one store. The outcome keeps the first failure.
          Pair = Struct.new(:contestant, :value, :fleet, :outcome)

          # Rows have "rates" (calls a second of both processes together, a list for each pair of processes) and
          # "histogram" (ns of all calls).
          #
          # @param design [Design]
          # @param cpus [Array<Integer>]
          def initialize(design, cpus: Engine::Pinning.allowed_cpus, **)
            super(design, pinning: Engine::Pinning.new(cpus:), **)
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

          # With only two CPUs, the second process gets the servers' CPU.
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

          # Both processes work at the same time.
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
