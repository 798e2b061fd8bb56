# frozen_string_literal: true

require_relative "../../load/blocks"
require_relative "../view"

module Tiercel
  module Lab
    module Tables
      module Http
        # Whole requests: quantiles, the ratio of typical requests, and a verdict.
        class View < Tables::View
          QUANTILES = { "median" => 0.5, "p90" => 0.9, "p99" => 0.99 }.freeze
          HEADER = ["", "what", *QUANTILES.keys, "slowest", "first request", "status", "bytes"].freeze

          def title = "Whole requests"

          def subtitle = "#{super}; #{2 * facts["requests"].to_i} requests to each in a block"

          def tone = word || :plain

          def quick_words
            quick? ? ["Quick: few requests; p99 is rough, and differences below 10 % are not told."] : []
          end

          def sentence
            unless measured_sides?
              broken = sides.find { |row| !Engine::Outcome.measured?(row) } or return "Nothing was measured."
              return "#{broken["side"]} could not be measured: #{Engine::Outcome.words(broken)}."
            end
            "A request takes #{Report::Cell.interval(ratio_interval, unit: "x")} the time with B " \
              "(#{side("B")["label"]}) that it takes with A (#{side("A")["label"]}): " \
              "#{Report::Cell::VERDICTS.fetch(word)}."
          end

          def findings
            return [] unless %i[faster slower].include?(word)
            [Finding.new("A page of fragments takes #{Report::Format.number(ratio_interval.estimate)}x the time with " \
                         "#{side("B")["label"]} that it takes with #{side("A")["label"]}.", "HTTP: compared")]
          end

          def fill(document)
            document.section("Latency") { |section| add_latency(section) }
            document.section("Distribution") { |section| add_spectrum(section) } if measured_sides?
          end

          private

          def sides = rows("requests")

          def side(id) = sides.find { |row| row["side"] == id }

          def facts = notes("requests")

          def measured_sides?
            sides.size > 1 && sides.all? { |row| Engine::Outcome.measured?(row) && blocks(row).any? }
          end

          def blocks(row) = Load::Blocks.new(row)

          MEDIAN = ->(_facts, ns) { Statistics.median(ns).to_f }
          private_constant :MEDIAN

          # How far A came from itself.
          def noise
            @noise ||= blocks(side("A again")).noise_to(blocks(side("A")), &MEDIAN) if measured_sides?
          end

          # Of the medians of blocks, each block's with the one beside it.
          def ratio_interval = @ratio_interval ||= blocks(side("B")).ratio_to(blocks(side("A")), &MEDIAN)

          def word
            return unless measured_sides?
            protocol.verdict(ratio_interval, margin: protocol.margin_for([:loopback], floor: noise))
          end

          def add_latency(section)
            section.text("From the first byte sent to the last one read, over connections that are kept; A, B and A " \
                         "again in turn and back. Every status and every body was " \
                         "checked#{"; bodies were allowed to differ" if facts["any_body"]}.")
            section.table("HTTP: compared", header: ["", "ratio of the median", "verdict", "noise floor"],
                          command:) do |table|
              table.row("B / A", *compared_cells)
            end
            section.table("HTTP: latency#{" of #{facts["app"]} #{facts["path"]}" if facts["app"]}", header: HEADER,
                          command:) do |table|
              sides.each { |row| add_side(table, row) }
            end
          end

          def compared_cells
            return [Report::Cell.missing("not measured"), "", ""] unless measured_sides?
            [Report::Cell.interval(ratio_interval, unit: "x", muted: word == :cannot_tell), word,
             Report::Format.percent(noise)]
          end

          def add_side(table, row)
            unless Engine::Outcome.measured?(row) && blocks(row).any?
              reason = Engine::Outcome.measured?(row) ? Report::Cell.missing("not measured") : missing(row)
              return table.row(row["side"], row["label"], reason, *[""] * (HEADER.size - 3))
            end
            table.row(row["side"], row["label"], *QUANTILES.each_value.map { |share| quantile(row, share) },
                      Report::Cell.number(blocks(row).ns.max / 1e3, unit: "us"), of_processes(row["first_ns"]),
                      row["http_status"], row["bytes"])
            table.raw(row["side"], blocks(row).figures(&MEDIAN).map { |ns| ns / 1e3 }, unit: "us")
          end

          # A figure for each process, and what processes differ by.
          def quantile(row, share) = Report::Cell.interval(blocks(row).quantile(share), unit: "us")

          def of_processes(ns)
            Report::Cell.interval(Statistics::MedianInterval.of(ns.map { |one| [one / 1e3] }), unit: "us")
          end

          def add_spectrum(section)
            chart = Report::Charts::PercentileSpectrum.new("HTTP: by share of requests", unit: "us", command:)
            sides.each do |row|
              sorted = blocks(row).ns.sort
              chart.series("#{row["side"]}: #{row["label"]}", spectrum(sorted), muted: row["side"] == "A again")
            end
            section.add(chart)
          end

          def spectrum(sorted)
            shares = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999].select { |share| sorted.size * (1 - share) >= 1 }
            shares.map { |share| [share * 100, Statistics.sorted_quantile(sorted, share) / 1e3] }
          end
        end
      end
    end
  end
end
