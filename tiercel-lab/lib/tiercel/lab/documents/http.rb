# frozen_string_literal: true

require_relative "../protocol"
require_relative "../statistics"
require_relative "table"

module Tiercel
  module Lab
    module Documents
      # Whole requests: quantiles, the ratio of typical requests, and a verdict.
      class Http < Table
        QUANTILES = { "median" => 0.5, "p90" => 0.9, "p99" => 0.99 }.freeze
        HEADER = ["", "what", *QUANTILES.keys, "slowest", "first request", "status", "bytes"].freeze

        def title = "Whole requests"

        def subtitle
          "#{super}; #{requests_words}"
        end

        def fill(document)
          document.verdict(sentence, tone: verdict_of || :plain, floor: floor && Terminal::Figures.percent(floor),
                                     warnings: warnings + quick_words)
          document.section("Latency") { |section| add_latency(section) }
          document.section("Distribution") { |section| add_spectrum(section) } if measured_sides?
        end

        private

        def sides = rows("requests")

        def side(id) = sides.find { |row| row["side"] == id }

        def facts = notes("requests")

        def requests_words = "#{2 * facts["requests"].to_i} requests to each in a block"

        def quick_words = quick? ? ["Quick: few requests; p99 is rough, and differences below 10 % are not told."] : []

        def measured_sides? = sides.size > 1 && sides.all? { |row| row["status"] == "measured" && row["blocks"].any? }

        # @return [Hash{Integer => Hash{Integer => Array<Integer>}}] ns by process and block
        def blocks(row)
          row["blocks"].group_by(&:first).transform_values do |of_process|
            of_process.to_h { |_process, block, *ns| [block, ns] }
          end
        end

        # Of the medians of blocks, each block's with the one beside it.
        def ratio_of(one, other)
          theirs = blocks(one)
          logs = blocks(other).filter_map do |process, of_process|
            pairs = of_process.filter_map do |block, ns|
              beside = theirs.dig(process, block)
              Math.log(median(ns) / median(beside)) if beside
            end
            pairs unless pairs.empty?
          end
          Statistics::MedianInterval.of(logs) unless logs.empty?
        end

        def median(values) = Statistics.median(values).to_f

        # How far A came from itself.
        def floor
          return unless measured_sides?
          @floor ||= Math.exp(ratio_of(side("A"), side("A again")).reach) - 1.0
        end

        def ratio_interval = @ratio_interval ||= ratio_of(side("A"), side("B")).exp

        def verdict_of
          return unless measured_sides?
          protocol = Protocol.from(results["run"]["protocol"])
          protocol.verdict(ratio_interval, margin: protocol.margin_for([:loopback], floor:))
        end

        def sentence
          unless measured_sides?
            broken = sides.find { |row| row["status"] != "measured" } or return "Nothing was measured."
            return "#{broken["side"]} could not be measured: #{broken["status"]}: #{broken["reason"]}."
          end
          ratio = Report::Cell.interval(ratio_interval, unit: "x")
          "A request takes #{ratio} the time with B (#{side("B")["label"]}) that it takes with A " \
            "(#{side("A")["label"]}): #{Report::Cell::VERDICTS.fetch(verdict_of)}."
        end

        def add_latency(section)
          section.text("From the first byte sent to the last one read, over connections that are kept; A, B and A " \
                       "again in turn and back. Every status and every body was " \
                       "checked#{"; bodies were allowed to differ" if facts["any_body"]}.")
          section.table("HTTP: latency#{" of #{facts["app"]} #{facts["path"]}" if facts["app"]}", header: HEADER,
                        command:) do |table|
            sides.each { |row| add_side(table, row) }
          end
          section.table("HTTP: compared", header: ["", "ratio of the median", "verdict", "noise floor"],
                        command:) do |table|
            table.row("B / A", *compared_cells)
          end
        end

        def compared_cells
          return [Report::Cell.missing("not measured"), "", ""] unless measured_sides?
          [Report::Cell.interval(ratio_interval, unit: "x", muted: verdict_of == :cannot_tell), verdict_of,
           Terminal::Figures.percent(floor)]
        end

        def add_side(table, row)
          unless row["status"] == "measured" && row["blocks"].any?
            reason = row["status"] == "measured" ? "not measured" : "#{row["status"]}: #{row["reason"]}"
            return table.row(row["side"], row["label"], Report::Cell.missing(reason), *[""] * (HEADER.size - 3))
          end
          table.row(row["side"], row["label"], *QUANTILES.each_value.map { |share| quantile(row, share) }, slowest(row),
                    first(row), row["http_status"], row["bytes"])
          table.raw(row["side"], row["blocks"].map { |_process, _block, *ns| median(ns) / 1e3 }, unit: "us")
        end

        # A figure for each process, and what processes differ by.
        def quantile(row, share)
          per_process = blocks(row).each_value.map do |of_process|
            [Statistics.quantile(of_process.values.flatten, share) / 1e3]
          end
          Report::Cell.interval(Statistics::MedianInterval.of(per_process), unit: "us")
        end

        def slowest(row) = Report::Cell.number(all_ns(row).max / 1e3, unit: "us")

        def first(row)
          Report::Cell.interval(Statistics::MedianInterval.of(row["first_ns"].map { |ns| [ns / 1e3] }), unit: "us")
        end

        def all_ns(row) = row["blocks"].flat_map { |_process, _block, *ns| ns }

        def add_spectrum(section)
          chart = Report::Charts::PercentileSpectrum.new("HTTP: by share of requests", unit: "us", command:)
          sides.each do |row|
            sorted = all_ns(row).sort
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
