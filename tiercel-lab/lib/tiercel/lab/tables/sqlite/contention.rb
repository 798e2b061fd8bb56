# frozen_string_literal: true

require_relative "../../engine"
require_relative "../../statistics"

module Tiercel
  module Lab
    module Tables
      module Sqlite
        # Two processes at once on each store: fresh pairs, and all pairs in turn, then in reverse.
        class Contention < Engine::Trial
          OPERATIONS = %w[write read].freeze
          # To start two processes and to build a store in each.
          OPEN_SECONDS = 3.0
          # From the command to work until both have heard it.
          START_SECONDS = 0.05
          # Before both begin: time to hear of it.
          LEAD_SECONDS = 0.02

          # Two processes on two CPUs with one store between them; the first failure stays.
          Pair = Struct.new(:contestant, :value, :jobs, :outcome)

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
            pairs = @contestants.map { |contestant| start(contestant, value) }
            pairs.each_with_index do |pair, index|
              open(pair, format("%d-%02d-%02d-%s", Process.pid, process, index, value))
            end
            take_turns(pairs, process)
            pairs.each { |pair| on_both(pair) { |job| job.call("verify") } }
          ensure
            pairs&.each do |pair|
              OPERATIONS.each { |operation| note(row_of(pair, operation), pair.outcome) }
              pair.jobs.each(&:stop)
            end
          end

          # Of the second process: where there are only two CPUs, the one that servers have.
          def pinnings
            second = @cpus.size > 2 ? [@cpus[0], @cpus[2]] : @cpus.reverse
            [@cpus, second].map { |cpus| Engine::Pinning.new(cpus:) }
          end

          # Both, without waiting for them.
          def start(contestant, value)
            pair = Pair.new(contestant, value, [], { "status" => Engine::Outcome::MEASURED })
            guarded(pair) do
              pinnings.each { |pinning| pair.jobs << job("tables/sqlite/client", bundle: contestant.bundle, pinning:) }
            end
            pair
          end

          # One after the other: the first makes the tables.
          def open(pair, label)
            context = { servers: @pool.facts(pair.contestant.servers), folders: @scratch.folders, label:, shared: true }
            pair.jobs.each_with_index do |job, index|
              on(pair) do
                job.call("open", text: pair.contestant.text, value: pair.value, seed: @seed, context:,
                                 prefix: "#{label}-#{index}")
              end
            end
            on_both(pair) { |job| job.call("fill") }
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
            answers = guarded(pair) do
              at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LEAD_SECONDS
              pair.jobs.each { |job| job.send_call("work", operation:, at:, seconds: @design.seconds) }
              pair.jobs.map(&:value).each { |answer| note(pair.outcome, answer) }
            end
            @progress.advance(@design.seconds + START_SECONDS,
                              "two processes #{operation} with #{pair.contestant.name}")
            keep(row_of(pair, operation), answers, process) if answers && measured?(pair.outcome)
          end

          def keep(row, answers, process)
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

          def on_both(pair) = pair.jobs.each { |job| on(pair) { yield job } }

          def on(pair) = guarded(pair) { note(pair.outcome, yield) }

          def guarded(pair)
            yield if measured?(pair.outcome)
          rescue CannotRun, WorkerLost => e
            note(pair.outcome, Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, e.message))
            nil
          end
        end
      end
    end
  end
end
