# frozen_string_literal: true

require_relative "../../load/driver"
require_relative "../../report"
require_relative "../../statistics"

module Tiercel
  module Lab
    module Tables
      module Latency
        # Percentiles against the offered load.
        class LoadSection
          SHARES = { "p50" => 0.5, "p90" => 0.9, "p99" => 0.99, "p99.9" => 0.999 }.freeze
          SPECTRUM = [0.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99].freeze
          HEADER = ["store", "offered", "achieved", "latency from", *SHARES.keys, "max"].freeze

          # @param rows [Array<Hash>] of the recorded table "load"
          # @param notes [Hash]
          # @param command [String]
          def initialize(rows, notes, command:)
            @groups = rows.group_by { |row| [*row.values_at("store", "place"), rate(row)] }
            @notes = notes
            @command = command
          end

          # @param document [Report::Document]
          # @return [void]
          def add_to(document)
            return if @groups.empty?
            document.section("Latency under load") do |section|
              section.text("Fetches that hit, by one client on one connection, at #{@notes["arrivals"]} intervals " \
                           "whether the one before was answered or not. Every store gets the same rates. A store " \
                           "that carried less than #{(Load::Driver::LEAST_SHARE * 100).round} % of a rate is " \
                           "overloaded: its latency grows for as long as the load lasts. " \
                           "*Intended*: from when a request was due, its wait behind others included. *Service*: " \
                           "from when it was sent, which is all that a closed loop sees.")
              section.add(table)
              spectra.each { |chart| section.add(chart) }
              section.add(by_load) if carried.size > 1
            end
          end

          private

          def table
            table = Report::Table.new("Latency: percentiles by offered load", header: HEADER, command: @command,
                                      note: "Milliseconds; brackets: least and most of the processes.")
            @groups.each { |key, rows| add_rows(table, key, rows) }
            table
          end

          # Results of older versions name a share of the store's own capacity.
          def rate(row) = row.fetch("rate") { (row["share_of_capacity"] * row["capacity"]).round }

          def add_rows(table, (store, place, rate), rows)
            name = "#{store}, #{place}, #{Report::Format.number(rate)}/s"
            failed = rows.find { |row| row["status"] != "measured" }
            return table.row(name, *missing([failed["status"], failed["reason"]].compact.join(": "))) if failed
            return table.row(name, *rates(rows), "intended", "", "", overload(rows), "", "") unless carried?(rows)
            %w[response service].each do |kind|
              table.row(name, *rates(rows), kind == "response" ? "intended" : "service", *percentiles(rows, kind))
            end
          end

          def missing(reason) = [Report::Cell.missing(reason), *[""] * (HEADER.size - 2)]

          # The longer one watches, the more it is.
          def overload(rows)
            least = Report::Format.with_unit(merged(rows, "response").quantile(0.99) / 1e6, "ms")
            rising = rows.any? { |row| row.fetch("rising", true) } ? ", rising" : ""
            carried = Report::Format.number(rows.map { |row| row["share"] }.min * 100)
            note = "Overloaded: #{carried} % of the rate was carried."
            Report::Cell.text("at least #{least}#{rising}", note:)
          end

          # In each process: one that was overloaded would hide in a mean.
          def carried?(rows)
            rows.all? { |row| row["status"] == "measured" && row["share"] >= Load::Driver::LEAST_SHARE }
          end

          def carried = @groups.select { |_key, rows| carried?(rows) }

          def rates(rows) = %w[offered achieved].map { |name| Report::Cell.number(mean(rows, name), unit: "/s") }

          def mean(rows, name) = rows.sum { |row| row[name] } / rows.size

          def percentiles(rows, kind)
            longest = Report::Cell.number(merged(rows, kind).max / 1e6, unit: "ms")
            [*SHARES.values.map { |share| interval(rows, kind, share) }, longest]
          end

          def interval(rows, kind, share)
            each = histograms(rows, kind).map { |histogram| histogram.quantile(share) / 1e6 }
            Report::Cell.interval(Statistics::Interval.new(merged(rows, kind).quantile(share) / 1e6, *each.minmax),
                                  unit: "ms")
          end

          def histograms(rows, kind) = rows.map { |row| Statistics::Histogram.from_h(row[kind]) }

          def merged(rows, kind)
            histograms(rows, kind).reduce(Statistics::Histogram.new) { |sum, one| sum.merge!(one) }
          end

          # One chart for each store, at its highest load that was carried.
          def spectra
            carried.group_by { |(store, place, _rate), _rows| [store, place] }.map do |(store, place), groups|
              (_, _, rate), rows = groups.max_by { |(_store, _place, load), _rows| load }
              title = "Latency: #{store}, #{place}, at #{Report::Format.number(rate)}/s"
              chart = Report::Charts::PercentileSpectrum.new(title, unit: "ms")
              { "from when it was due" => "response", "service alone" => "service" }.each do |name, kind|
                chart.series(name, spectrum(merged(rows, kind)))
              end
              chart
            end
          end

          # Not beyond what so many requests can tell.
          def spectrum(histogram)
            SPECTRUM.select { |percentile| histogram.count * (1 - (percentile / 100)) >= 1 }
                    .map { |percentile| [percentile, [histogram.quantile(percentile / 100), 1].max / 1e6] }
          end

          def by_load
            chart = Report::Charts::LineChart.new("Latency: p99 by offered load", x: "offered, requests a second",
                                                  y: "ms", y_scale: :log)
            carried.group_by { |(store, place, _rate), _rows| "#{store}, #{place}" }.each do |name, groups|
              points = groups.map do |(_, _, rate), rows|
                [rate, merged(rows, "response").quantile(0.99) / 1e6]
              end
              chart.series(name, points)
            end
            chart
          end
        end
      end
    end
  end
end
