# frozen_string_literal: true

require_relative "../view"

module Tiercel
  module Lab
    module Tables
      module Growth
        # How cost grows: for each factor a table and charts on logarithmic axes.
        class View < Tables::View
          OPERATIONS = %w[read fetch write].freeze
          # The name of each factor's column, and the figures that are drawn.
          FACTORS = { "entries" => ["entries", %w[read write resident]],
                      "bytes" => ["bytes of a value", %w[read write]],
                      "processes" => ["processes", %w[read resident]] }.freeze
          # One store at one point, all rounds.
          Place = Struct.new(:store, :point, :rows) do
            def factor = point["factor"]
            def at = point[factor]
            def failed = rows.find { |row| !Engine::Outcome.measured?(row) }

            # @param figure [Integer] 0: time without collection, 1: of collection
            # @return [Array<Array<Float>>] microseconds, of each process
            def us(operation, figure = 0)
              rows.flat_map { |row| row["processes_slices"] }
                  .map { |slices| slices[operation].map { |slice| slice[figure] / 1e3 } }
            end

            # @return [Statistics::Interval] microseconds a call
            def time(operation) = Statistics::MedianInterval.of(us(operation))

            # @return [Float] microseconds a call of garbage collection, mean, of the operation with the most
            def collection
              OPERATIONS.map { |operation| us(operation, 1).flatten.then { |each| each.sum / each.size } }.max
            end

            # @return [Float, nil] bytes of all processes and the server, or of files
            def resident
              each = rows.filter_map { |row| [row["resident_bytes"].to_i, row["file_bytes"].to_i].max }
              Statistics.median(each.map(&:to_f)) if each.any?(&:positive?)
            end
          end

          def title = "How cost grows"

          def subtitle
            facts = notes("growth")
            return "Interrupted before anything was measured" if facts.empty?
            rounds = "#{facts["rounds"]} #{facts["rounds"] == 1 ? "round" : "rounds"}"
            "Names at random among all entries, nothing compressed; #{rounds} with fresh processes"
          end

          def quick_words = quick? ? ["Quick: three decades of entries, one round; intervals are over slices."] : []

          def sentence
            grown = growths("entries").select { |growth| growth.operation == "read" }
            return "Nothing could be compared." if grown.empty?
            least, most = grown.first.from, grown.first.to
            words = grown.map { |growth| "#{factor_words(growth.by)} with #{growth.store}" }
            "From #{Report::Format.number(least)} to #{Report::Format.number(most)} entries a read grows " \
              "#{words.join(", ")}."
          end

          def fill(document)
            FACTORS.each do |factor, (words, drawn)|
              group = places.select { |place| place.factor == factor }
              next if group.empty?
              document.section("By #{words}") { |section| add_factor(section, factor, words, group, drawn) }
            end
          end

          # How a store's cost grows from the least to the most of a factor that was measured.
          Grown = Struct.new(:store, :operation, :from, :to, :by)

          # @param factor [String] of {FACTORS}
          # @return [Array<Grown>] of each store and operation that has two places at least
          def growths(factor)
            by_store = measured.select { |place| place.factor == factor }.group_by(&:store)
            by_store.flat_map do |store, group|
              first, last = group.minmax_by(&:at)
              next [] if first.at == last.at
              OPERATIONS.map { |operation| grown(store, operation, first, last) }
            end
          end

          # @return [Statistics::Interval, nil] how many times a read of a store costs at `to` entries of that at `from`
          def read_growth(store, from:, to:)
            first, last = [from, to].map do |entries|
              measured.find { |place| [place.store, place.factor, place.at] == [store, "entries", entries] }
            end
            last.time("read").over(first.time("read")) if first && last
          end

          private

          def places
            @places ||= begin
              groups = rows("growth").group_by { |row| row.values_at("store", "factor", *FACTORS.keys) }.values
              found = groups.map { |group| Place.new(group.first["store"], group.first, group) }
              found.sort_by { |place| [notes("growth")["stores"].index(place.store) || 0, place.at] }
            end
          end

          def measured = places.reject(&:failed)

          def grown(store, operation, first, last)
            Grown.new(store, operation, first.at, last.at, last.time(operation).over(first.time(operation)))
          end

          def factor_words(interval) = Report::Format.with_unit(interval.estimate, "x")

          def add_factor(section, factor, words, group, drawn)
            section.text(explanation(factor))
            section.add(table(factor, words, group))
            growth_table(section, factor, words)
            drawn.each { |figure| chart = chart(words, group, figure) and section.add(chart) }
          end

          def explanation(factor)
            facts = notes("growth")
            case factor
            when "entries" then "Values of #{facts["entry_bytes"]} B, one process. #{reading}"
            when "bytes" then "#{Report::Format.number(facts["few"])} entries, one process."
            else
              "#{Report::Format.number(facts["crowd_entries"])} entries of #{facts["crowd_bytes"]} B; all processes " \
                "ask at once. In-process stores are timed by their CPU time; where a call waits for a server that " \
                "others ask too, or for a CPU, that is in its time. A `memory_store` is one in each process."
            end
          end

          def reading
            "Each slice has fresh names, and what looping over them takes is subtracted: what is left is the store's " \
              "own, with the cache misses of the processor that large stores have. *Resident* is what the " \
              "#{notes("growth")["memory"]} of processes and server grew by, or the bytes of files where these are " \
              "more."
          end

          def table(factor, words, group)
            header = ["store", words, *OPERATIONS, "GC a call", "resident", "bytes an entry"]
            table = Report::Table.new("Growth: by #{words}", header:, command:)
            group.each { |place| add(table, factor, place) }
            table
          end

          def add(table, factor, place)
            label = [place.store, Report::Cell.count(place.at)]
            return table.row(*label, missing(place.failed), *[""] * 5) if place.failed
            resident = place.resident
            table.row(*label, *OPERATIONS.map { |operation| Report::Cell.interval(place.time(operation), unit: "us") },
                      Report::Cell.number(place.collection, unit: "us"),
                      resident ? Report::Format.bytes(resident) : "unknown",
                      resident ? Report::Cell.count((resident / place.point["entries"]).round) : "")
            OPERATIONS.each do |operation|
              table.raw("#{place.store}, #{place.at} #{factor}: #{operation}", place.us(operation).flatten, unit: "us")
            end
          end

          def growth_table(section, factor, words)
            grown = growths(factor).group_by(&:store)
            return if grown.empty?
            header = ["store", "from", "to", *OPERATIONS]
            section.table("Growth: the most by the least, #{words}", header:, command:) do |table|
              grown.each do |store, each|
                table.row(store, Report::Cell.count(each.first.from), Report::Cell.count(each.first.to),
                          *each.map { |growth| Report::Cell.interval(growth.by, unit: "x") })
              end
            end
          end

          # @return [Report::Charts::LineChart, nil] nil where there is nothing to join
          def chart(words, group, figure)
            unit = figure == "resident" ? "MB" : "us"
            chart = Report::Charts::LineChart.new("Growth: #{figure} by #{words}", x: words, y: unit, x_scale: :log,
                                                  y_scale: :log, command:)
            series = group.reject(&:failed).group_by(&:store)
                          .transform_values { |of_store| of_store.filter_map { |place| chart_point(place, figure) } }
            series = series.select { |_store, points| points.size > 1 }
            series.each { |store, points| chart.series(store, points) }
            chart if series.any?
          end

          # A slice that cost no more than the loop has no place on a logarithmic axis.
          def chart_point(place, figure)
            unless figure == "resident"
              time = place.time(figure)
              return ([place.at, *time.to_h.values] if time.low.positive?)
            end
            resident = place.resident
            [place.at, resident / (1024.0 * 1024)] if resident
          end
        end
      end
    end
  end
end
