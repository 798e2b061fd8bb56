# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Latency
        # Shows percentiles of the latency by the offered load.
        class LoadSection
          SHARES = { "p50" => 0.5, "p90" => 0.9, "p99" => 0.99, "p99.9" => 0.999 }.freeze
          SPECTRUM = [0.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99].freeze
          KINDS = { "response" => "intended", "service" => "service" }.freeze

          # One store at one offered rate, in all processes.
          Offer = Struct.new(:store, :place, :rate, :rows) do
            def name = "#{store}, #{place}"

            def failed = rows.find { |row| !Engine::Outcome.measured?(row) }

            # A mean would hide a single overloaded process.
            def carried? = failed.nil? && share >= Load::Driver::LEAST_SHARE

            def share = rows.map { |row| row["share"] }.min

            def mean(fact) = rows.sum { |row| row[fact] } / rows.size

            def merged(kind) = histograms(kind).reduce(Statistics::Histogram.new) { |sum, one| sum.merge!(one) }

            def histograms(kind) = rows.map { |row| Statistics::Histogram.from_h(row[kind]) }
          end

          # @param view [View]
          # @param rows [Array<Hash>] rows of the recorded table "load"
          # @param arrivals [String]
          def initialize(view, rows, arrivals)
            @view = view
            @arrivals = arrivals
            @offers = rows.group_by { |row| [*row.values_at("store", "place"), rate(row)] }
                          .map { |key, group| Offer.new(*key, group) }
          end

          # @param document [Report::Document]
          # @return [void]
          def add_to(document)
            return if @offers.empty?
            document.section("Latency under load") do |section|
              section.text(words)
              section.add(table)
              spectra.each { |chart| section.add(chart) }
              section.add(by_load) if carried.size > 1
            end
          end

          private

          def words
            least = (Load::Driver::LEAST_SHARE * 100).round
            "Fetches that hit, by one client on one connection, at #{@arrivals} intervals whether the one before was " \
              "answered or not. Every store gets the same rates. A store that carried less than #{least} % of a rate " \
              "is overloaded: its latency grows for as long as the load lasts. *Intended*: from when a request was " \
              "due, its wait behind others included. *Service*: from when it was sent, which is all that a closed " \
              "loop sees."
          end

          def carried = @offers.select(&:carried?)

          # Results of older versions have a share of the store's capacity instead of a rate.
          def rate(row) = row.fetch("rate") { (row["share_of_capacity"] * row["capacity"]).round }

          # An offer that was carried has two rows: from when requests were due, and from when they were sent.
          def table
            rows = @offers.flat_map { |offer| (offer.carried? ? KINDS.keys : KINDS.keys.first(1)).map { [offer, _1] } }
            @view.columns_table("Latency: percentiles by offered load", rows, columns, labels: 1,
                                note: "Milliseconds; brackets: least and most of the processes.",
                                reason: ->((offer, _kind)) { @view.failure(offer) })
          end

          def columns
            { "store" => ->((offer, _)) { "#{offer.name}, #{Report::Format.number(offer.rate)}/s" },
              "offered" => [->((offer, _)) { offer.mean("offered") }, "/s"],
              "achieved" => [->((offer, _)) { offer.mean("achieved") }, "/s"],
              "latency from" => ->((_, kind)) { KINDS.fetch(kind) },
              **SHARES.to_h { |name, share| [name, [percentile(name, share), "ms"]] },
              "max" => [->((offer, kind)) { offer.merged(kind).max / 1e6 if offer.carried? }, "ms"] }
          end

          def percentile(name, share)
            lambda do |(offer, kind)|
              return (LoadSection.overload(offer) if name == "p99") unless offer.carried?
              each = offer.histograms(kind).map { |histogram| histogram.quantile(share) / 1e6 }
              Statistics::Interval.new(offer.merged(kind).quantile(share) / 1e6, *each.minmax)
            end
          end

          # The latency of an overloaded store rises for as long as the load lasts, so its p99 is a lower bound.
          #
          # @param offer [Offer]
          # @return [Report::Cell]
          def self.overload(offer)
            least = Report::Format.with_unit(offer.merged("response").quantile(0.99) / 1e6, "ms")
            rising = offer.rows.any? { |row| row.fetch("rising", true) } ? ", rising" : ""
            note = "Overloaded: #{Report::Format.number(offer.share * 100)} % of the rate was carried."
            Report::Cell.text("at least #{least}#{rising}", note:)
          end

          # Draws a chart for each store, at the highest rate that it carried.
          def spectra
            carried.group_by(&:name).map do |name, offers|
              most = offers.max_by(&:rate)
              title = "Latency: #{name}, at #{Report::Format.number(most.rate)}/s"
              chart = Report::Charts::PercentileSpectrum.new(title, unit: "ms")
              { "from when it was due" => "response", "service alone" => "service" }.each do |words, kind|
                chart.series(words, spectrum(most.merged(kind)))
              end
              chart
            end
          end

          # Leaves out percentiles for which there are too few requests.
          def spectrum(histogram)
            SPECTRUM.select { |percentile| histogram.count * (1 - (percentile / 100)) >= 1 }
                    .map { |percentile| [percentile, [histogram.quantile(percentile / 100), 1].max / 1e6] }
          end

          def by_load
            series = carried.group_by(&:name).transform_values do |offers|
              offers.map { |offer| [offer.rate, offer.merged("response").quantile(0.99) / 1e6] }
            end
            @view.line_chart("Latency: p99 by offered load", series, x: "offered, requests a second", y: "ms",
                                                                     y_scale: :log, command: nil)
          end
        end
      end
    end
  end
end
