# frozen_string_literal: true

require_relative "../../load/blocks"

module Tiercel
  module Lab
    module Tables
      module Http
        # Shows quantiles of whole requests, the ratio of their medians, and a verdict.
        class View < Tables::View
          quick "Quick: few requests; p99 is rough, and differences below 10 % are not told."

          QUANTILES = { "median" => 0.5, "p90" => 0.9, "p99" => 0.99 }.to_h do |name, share|
            [name, [->(row) { blocks(row).quantile(share) }, "us"]]
          end
          COLUMNS = { "" => "side", "what" => "label", **QUANTILES,
                      "slowest" => [->(row) { blocks(row).ns.max / 1e3 }, "us"],
                      "first request" => [->(row) { median_of_processes(row["first_ns"].map { |ns| ns / 1e3 }) }, "us"],
                      "status" => "http_status", "bytes" => "bytes" }.freeze

          def title = "Whole requests"

          def subtitle = "#{super}; #{2 * facts["requests"].to_i} requests to each in a block"

          def tone = word || :plain

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

          # The noise floor: the difference between A and A again.
          def noise
            @noise ||= blocks(side("A again")).noise_to(blocks(side("A")), &MEDIAN) if measured_sides?
          end

          # The ratio of the medians of adjacent blocks.
          def ratio_interval = @ratio_interval ||= blocks(side("B")).ratio_to(blocks(side("A")), &MEDIAN)

          def word
            return unless measured_sides?
            protocol.verdict(ratio_interval, margin: protocol.margin_for([:loopback], floor: noise), floor: noise)
          end

          def add_latency(section)
            section.text("From the first byte sent to the last one read, over connections that are kept; A, B and A " \
                         "again in turn and back. Every status and every body was " \
                         "checked#{"; bodies were allowed to differ" if facts["any_body"]}.")
            section.table("HTTP: compared", header: ["", "ratio of the median", "verdict", "noise floor"], command:,
                                            rows: [["B / A", *compared_cells]])
            raw = ->(row) { { row["side"] => blocks(row).figures(&MEDIAN).map { |ns| ns / 1e3 } } }
            section.add(columns_table("HTTP: latency#{" of #{facts["app"]} #{facts["path"]}" if facts["app"]}", sides,
                                      COLUMNS, labels: 2, raw:))
          end

          def failure(row) = super || (Report::Cell.missing("not measured") unless blocks(row).any?)

          def compared_cells
            return [Report::Cell.missing("not measured"), "", ""] unless measured_sides?
            [figure(ratio_interval, "x", muted: word == :cannot_tell), word, Report::Format.percent(noise)]
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
