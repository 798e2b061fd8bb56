# frozen_string_literal: true

require_relative "../scaling/works"
require_relative "table"

module Tiercel
  module Lab
    module Documents
      # The report of {Commands::Scaling}.
      class Scaling < Table
        def title = "How reads and writes of a segment grow with processes"

        def subtitle = "#{rounds} rounds, all works in turn in each; 95 % intervals of medians"

        def fill(document)
          document.verdict(sentence, warnings:)
          document.section("Scaling") do |section|
            section.text("Throughput of as many processes as there are CPUs by that of one, and that figure by the " \
                         "control's: the same work on memory of each process's own.")
            header = ["work", "1 process", "#{most} processes", "growth", "of the control's"]
            section.table("Scaling: throughput", header:, command:) do |table|
              names.each { |name| add_row(table, name) }
            end
          end
        end

        # @param name [String] of a work
        # @return [Statistics::Interval] its growth by its control's, paired by round
        def relative(name)
          control = growths(Lab::Scaling::Works::CONTROLS.fetch(name))
          interval_of(growths(name).map { |round, growth| growth / control.fetch(round) })
        end

        private

        def names = throughput.map { |row| row["work"] }.uniq

        def throughput = rows("throughput")

        def most = notes("throughput").fetch("processes", [1]).max

        def rounds = throughput.map { |row| row["round"] }.uniq.size

        def rates(name, processes)
          throughput.select { |row| row["work"] == name && row["processes"] == processes }.to_h do |row|
            row.values_at("round", "per_second")
          end
        end

        def growths(name)
          one = rates(name, 1)
          rates(name, most).to_h { |round, rate| [round, rate / one.fetch(round)] }
        end

        def add_row(table, name)
          controlled = Lab::Scaling::Works::CONTROLS.key?(name)
          table.row(name, Report::Cell.number(Statistics.median(rates(name, 1).values) / 1e6, unit: "M/s"),
                    Report::Cell.number(Statistics.median(rates(name, most).values) / 1e6, unit: "M/s"),
                    Report::Cell.interval(interval_of(growths(name).values), unit: "x"),
                    controlled ? Report::Cell.interval(relative(name), unit: "x") : "control")
          table.raw(name, growths(name).values, unit: "x")
        end

        def sentence
          return "Nothing was measured." if throughput.empty?
          format("%d processes read a shared segment at %.2f of what the same loop on private memory grows by, and " \
                 "write at %.2f.",
                 most, relative("shared: get").estimate, relative("shared: set").estimate)
        end

        def interval_of(values) = Statistics::MedianInterval.of(values.map { |value| [value] })
      end
    end
  end
end
