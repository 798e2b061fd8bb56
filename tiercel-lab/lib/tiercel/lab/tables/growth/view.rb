# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Growth
        # Shows how cost grows: each factor has a table, and charts with logarithmic axes.
        class View < Tables::View
          quick "Quick: three decades of entries, one round; intervals are over slices."

          OPERATIONS = %w[read fetch write].freeze
          # The column name of each factor, and the figures in its charts.
          FACTORS = { "entries" => ["entries", %w[read write resident]],
                      "bytes" => ["bytes of a value", %w[read write]],
                      "processes" => ["processes", %w[read resident]] }.freeze
          # One store at one point, all rounds.
          Place = Struct.new(:store, :point, :rows) do
            def factor = point["factor"]
            def at = point[factor]
            def failed = rows.find { |row| !Engine::Outcome.measured?(row) }

            def bytes_an_entry = resident && Report::Cell.count((resident / point["entries"]).round)

            # @param figure [Integer] 0: time without collection, 1: of collection
            # @return [Array<Array<Float>>] microseconds, of each process
            def us(operation, figure = 0)
              rows.flat_map { |row| row["processes_slices"] }
                  .map { |slices| slices[operation].map { |slice| slice[figure] / 1e3 } }
            end

            # @return [Statistics::Interval] microseconds a call
            def time(operation) = Statistics::MedianInterval.of(us(operation))

            # @return [Float] mean garbage collection per call in microseconds, for the operation with the most
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

          def subtitle = facts_in_words("growth") do |facts|
            "Names at random among all entries, nothing compressed; #{several(facts["rounds"], "round")} with fresh " \
              "processes"
          end

          def sentence
            grown = growths("entries").select { |growth| growth.operation == "read" }
            return "Nothing could be compared." if grown.empty?
            words = grown.group_by { |growth| [growth.from, growth.to] }.map { |span, group| growth_words(span, group) }
            words.join(" ")
          end

          def fill(document)
            FACTORS.each do |factor, (words, drawn)|
              group = places.select { |place| place.factor == factor }
              next if group.empty?
              document.section("By #{words}") { |section| add_factor(section, factor, words, group, drawn) }
            end
          end

          # The growth of a store's cost from the smallest to the largest measured point of a factor.
          Grown = Struct.new(:store, :operation, :from, :to, :by)

          # @param factor [String] one of {FACTORS}
          # @return [Array<Grown>] growth of each store and operation with at least two points
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

          # If the interval contains 1, a growth is not decided, and its estimate says nothing.
          def growth_words(span, grown)
            least, most = span.map { |entries| Report::Format.number(entries) }
            told, untold = grown.partition { |growth| growth.by.low > 1 || growth.by.high < 1 }
            factors = told.map { |growth| "#{Report::Format.with_unit(growth.by.estimate, "x")} with #{growth.store}" }
            words = [("a read grows #{factors.join(", ")}" if told.any?),
                     ("no growth of a read can be told with #{untold.map(&:store).join(", ")}" if untold.any?)]
            "From #{least} to #{most} entries #{words.compact.join("; ")}."
          end

          def add_factor(section, factor, words, group, drawn)
            section.text(explanation(factor)).add(table(factor, words, group))
            grown = growths(factor).group_by(&:store).values
            section.add(growth_table(words, grown)) if grown.any?
            drawn.each { |figure| chart = chart(words, group, figure) and section.add(chart) }
          end

          def explanation(factor)
            facts = notes("growth")
            case factor
            when "entries" then "Values of #{facts["entry_bytes"]} B, one process. #{reading}"
            when "bytes" then "#{Report::Format.number(facts["few"])} entries, one process."
            else
              "#{Report::Format.number(facts["crowd_entries"])} entries of #{facts["crowd_bytes"]} B; all processes " \
                "call at the same time. In-process stores are timed by CPU time. Other times include waiting for the " \
                "server and for a CPU. Each process has a `memory_store` of its own."
            end
          end

          def reading
            "Each slice has new names, and the time of the empty loop is subtracted. The rest is the store's own " \
              "time, with the processor cache misses of large stores. *Resident* is the growth of the " \
              "#{notes("growth")["memory"]} of processes and server, or the bytes of files if these are more."
          end

          def table(factor, words, group)
            columns = { "store" => :store, words => ->(place) { Report::Cell.count(place.at) },
                        **OPERATIONS.to_h { |operation| [operation, [->(place) { place.time(operation) }, "us"]] },
                        "GC a call" => [:collection, "us"],
                        "resident" => ->(place) { place.resident ? Report::Format.bytes(place.resident) : "unknown" },
                        "bytes an entry" => :bytes_an_entry }
            raw = lambda do |place|
              OPERATIONS.to_h { |name| ["#{place.store}, #{place.at} #{factor}: #{name}", place.us(name).flatten] }
            end
            columns_table("Growth: by #{words}", group, columns, labels: 2, raw:)
          end

          # @param grown [Array<Array<Grown>>] the growths of each store
          def growth_table(words, grown)
            by = OPERATIONS.each_with_index.to_h { |operation, index| [operation, [->(each) { each[index].by }, "x"]] }
            columns_table("Growth: the most by the least, #{words}", grown,
                          { "store" => ->(each) { each.first.store },
                            "from" => ->(each) { Report::Cell.count(each.first.from) },
                            "to" => ->(each) { Report::Cell.count(each.first.to) }, **by })
          end

          # @return [Report::Charts::LineChart, nil] nil if no store has two points
          def chart(words, group, figure)
            series = group.reject(&:failed).group_by(&:store)
                          .transform_values { |of_store| of_store.filter_map { |place| chart_point(place, figure) } }
                          .select { |_store, points| points.size > 1 }
            line_chart("Growth: #{figure} by #{words}", series, x: words, y: figure == "resident" ? "MB" : "us",
                                                                x_scale: :log, y_scale: :log) if series.any?
          end

          # A logarithmic axis cannot show a slice that cost no more than the empty loop.
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
