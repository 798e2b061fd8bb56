# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # Shows how reads and writes of one segment grow with the number of processes, compared with the same work on
      # private memory.
      module Scaling
        class Table < Tables::Table
          called "scaling", "Reads and writes of shared: by the number of processes."
          example "scaling", "scaling --quick"
          takes :quick

          ROUNDS = 20
          QUICK_ROUNDS = 8

          def expected_seconds = trial.expected_seconds

          def plan_in_words
            "#{counts.join(", ")} processes, #{rounds} rounds of all works in turn, about " \
              "#{Report::Format.minutes(expected_seconds)}."
          end

          def take(_comparisons)
            run.try(trial, trial.expected_seconds)
            run.table("throughput", trial.rows, processes: counts)
          end

          private

          def rounds = settings.quick ? QUICK_ROUNDS : ROUNDS

          def trial = @trial ||= Trial.new(rounds:, counts:, cpus:, seed: settings.seed)

          # One process, and as many as there are CPUs.
          def counts = [1, cpus.size].uniq

          def cpus = @cpus ||= Engine::Pinning.allowed_cpus
        end

        class View < Tables::View
          def title = "How reads and writes of a segment grow with processes"

          def subtitle
            "#{several(rounds, "round")} of fresh processes, all works in turn in each; " \
              "#{interval_words(rounds, "round", "rounds")}"
          end

          def sentence
            return "Nothing was measured." if throughput.empty?
            read, write = ["shared: get", "shared: set"].map { |work| Report::Cell.interval(relative(work)) }
            "#{most} processes read a shared segment at #{read} of what the same loop on private memory grows by, " \
              "and write at #{write}."
          end

          def fill(document)
            document.section("Scaling") do |section|
              section.text("Throughput of as many processes as there are CPUs by that of one, and that figure by the " \
                           "control's: the same work on memory of each process's own.")
              works = throughput.map { |row| row["work"] }.uniq
              raw = ->(work) { { work => growths(work).values } }
              section.add(columns_table("Scaling: throughput", works, columns, raw:, unit: "x"))
            end
          end

          # @param name [String] name of a work that has a control
          # @return [Statistics::Interval] its growth divided by the control's
          def relative(name)
            control = growths(Trial::CONTROLS.fetch(name))
            median_of_processes(growths(name).map { |round, growth| growth / control.fetch(round) })
          end

          private

          def throughput = rows("throughput")

          def rounds = throughput.map { |row| row["round"] }.uniq.size

          def most = notes("throughput").fetch("processes", [1]).max

          def rates(name, processes)
            throughput.select { |row| row["work"] == name && row["processes"] == processes }.to_h do |row|
              row.values_at("round", "per_second")
            end
          end

          def growths(name)
            one = rates(name, 1)
            rates(name, most).to_h { |round, rate| [round, rate / one.fetch(round)] }
          end

          def columns
            { "work" => :itself, "1 process" => [->(work) { rate(work, 1) }, "M/s"],
              "#{most} processes" => [->(work) { rate(work, most) }, "M/s"],
              "growth" => [->(work) { median_of_processes(growths(work).values) }, "x"],
              "of the control's" => [->(work) { Trial::CONTROLS.key?(work) ? relative(work) : "control" }, "x"] }
          end

          def rate(work, processes) = Statistics.median(rates(work, processes).values) / 1e6
        end
      end

      add Scaling::Table
    end
  end
end
