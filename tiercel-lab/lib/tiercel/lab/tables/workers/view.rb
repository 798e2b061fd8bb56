# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Workers
        # Compares stores in each process with shared stores.
        class View < Tables::View
          article(/equal bytes\z/)

          quick "Quick: fewer workers' numbers, a smaller cache; with two rounds an interval is their whole range."

          COLUMNS = { "store" => :label, "workers" => :workers, "bytes each" => :bytes_each, "hit ratio" => [:hit, "%"],
                      "a call" => [:call, "us"], "mean with misses" => [:mean, "us"], "CPU a call" => [:cpu, "us"],
                      "resident" => ->(load) { memory(load).first },
                      "grown under load" => ->(load) { memory(load).last } }.freeze
          MEGABYTE = 1024.0 * 1024
          # One store with one number of workers, all rounds.
          Load = Struct.new(:store, :workers, :own, :failed, :rows, :hit, :call, :mean, :cpu, keyword_init: true)

          def title = "One cache for all workers, or one in each"

          def subtitle = facts_in_words("workers") do |facts|
            "Zipf #{facts["zipf"]} over #{Report::Format.number(facts["items"])} names of " \
              "#{Report::Format.number(facts["value_bytes"])} B, #{Report::Format.bytes(facts["total_bytes"])} for " \
              "all workers together; #{several(facts["rounds"], "round")}"
          end

          # The kernel places the processes, see {Trial}.
          def environment = super.merge("Pinning" => "not pinned")

          def sentence
            own, shared = leaders
            return "Nothing could be compared." unless own
            costs, hits = [method(:words), method(:percent)].map do |figure|
              [shared, own].map { |leader| leader.words(&figure) }
            end
            "With #{most} workers a call costs, misses included, #{costs.first} with one cache for all " \
              "(#{shared.words(&:store)}) and #{costs.last} with one in each (#{own.words(&:store)}): hits " \
              "#{hits.join(" against ")}.#{turn_words(own, shared)}#{control_words}"
          end

          def findings
            own, shared = leaders
            count = own && turn(own, shared)
            return [] unless count
            theirs, mine = [shared, own].map do |leader|
              leader.words { |load| "#{Report::Format.number(load.mean.estimate)} us" }
            end
            [Finding.new("With #{most} workers a call costs #{theirs}, misses included, with one cache for all " \
                         "(#{shared.words(&:store)}), and #{mine} with one in each (#{own.words(&:store)}): sharing " \
                         "is cheaper from #{several(count, "worker")} on.",
                         "Workers: stores at equal bytes")]
          end

          def fill(document)
            document.section("By store and workers") do |section|
              section.text(explanation).add(table)
              charts.each { |chart| section.add(chart) }
            end
          end

          private

          def loads
            @loads ||= rows("workers").group_by { |row| row.values_at("store", "workers") }
                                      .sort_by { |(store, count), _| [order(store), count] }
                                      .map { |(store, count), rows| load(store, count, rows) }
          end

          def order(store) = notes("workers")["stores"].index(store) || 0

          def load(store, workers, rows)
            failed = rows.find { |row| !Engine::Outcome.measured?(row) }
            facts = { store:, workers:, own: rows.first["own"], failed:, rows: }
            return Load.new(**facts) if failed
            miss_us = notes("workers")["miss_ms"] * 1e3
            Load.new(**facts, hit: over(rows) { |segment| 100.0 * hits(segment) },
                              call: over(rows) { |segment| us_of(segment) },
                              mean: over(rows) { |segment| us_of(segment) + ((1 - hits(segment)) * miss_us) },
                              cpu: cpu(rows))
          end

          def hits(segment) = segment["hits"].fdiv(segment["requests"])

          def us_of(segment) = segment["seconds"] * 1e6 / segment["requests"]

          # A round is a cluster, because its workers use the same servers at the same time.
          def over(rows, &)
            Statistics::MedianInterval.of(rows.map { |row| row["loads"].flatten.map(&) })
          end

          # CPU time of the workers and the server, us a request.
          def cpu(rows)
            segments = rows.flat_map { |row| row["loads"] }.flatten
            seconds = segments.sum { |segment| segment["cpu_seconds"] } + rows.sum { |row| row["server_cpu"].to_f }
            seconds * 1e6 / segments.sum { |segment| segment["requests"] }
          end

          def measured = loads.reject(&:failed)

          def most = loads.map(&:workers).max

          # The leaders with the most workers: of stores in each process, and of shared stores.
          def leaders
            groups = measured.select { |load| load.workers == most }.partition(&:own)
            return if groups.any?(&:empty?)
            groups.map do |group|
              Leader.new(group.to_h { |load| [load, load.mean] }, margin:, equality: protocol.equality)
            end
          end

          # The widest margin of the media of these stores.
          def margin = protocol.margin_for([:disk])

          def words(load) = Report::Cell.interval(load.mean, unit: "us").to_s

          def percent(load) = "#{Report::Format.number(load.hit.estimate)} %"

          # The number of workers from which every leading shared store is clearly cheaper than every leading store in
          # each process, by the farthest bounds of both intervals.
          #
          # @param own [Leader]
          # @param shared [Leader]
          # @return [Integer, nil]
          def turn(own, shared)
            pairs = shared.ahead.product(own.ahead).map { |pair| pair.map(&:store) }
            measured.group_by(&:workers).sort.reverse.take_while { |_workers, group|
              by_store = group.to_h { |load| [load.store, load] }
              pairs.all? { |stores| cheaper?(*by_store.values_at(*stores)) }
            }.last&.first
          end

          def cheaper?(load, other)
            load && other && protocol.verdict(load.mean.over(other.mean), margin:) == :faster
          end

          def turn_words(own, shared)
            count = turn(own, shared) or return " Which is cheaper cannot be told."
            " Sharing is clearly cheaper from #{several(count, "worker")} on."
          end

          # The control separates the effect of sharing from that of the engine.
          def control_words
            shared, control = [Design::CONTROL.keys.first, Design::CONTROL.values.first].map do |store|
              measured.find { |load| load.store == store && load.workers == most }
            end
            return "" unless shared && control && most > 1
            pair = Leader.new({ shared => shared.mean, control => control.mean }, margin:, equality: protocol.equality)
            " The control (#{control.store}, the same engine in each) costs #{words(control)}: with sharing a call " \
              "takes #{pair.time_words(shared, control, "the control")}."
          end

          def explanation
            "All workers read at the same time, each at its own pace, and write missing values. *Mean with misses* " \
              "is computed: the measured call, and #{Report::Format.number(notes("workers")["miss_ms"])} ms for " \
              "each miss. With more workers than CPUs, calls wait for other workers; *CPU* excludes this. " \
              "*Resident* is the #{notes("workers")["memory"]} of all workers and the server; *grown under load* is " \
              "its growth since the stores were built. The kernel's page cache is not counted."
          end

          def table
            note = "Nothing is compressed. Bytes each: of a worker's own store, or of the one they share."
            columns_table("Workers: stores at equal bytes", loads, COLUMNS, labels: 2, note:)
          end

          def label(load) = "#{load.store} (#{load.own ? "in each" : "shared"})"

          def bytes_each(load) = Report::Format.bytes(notes("workers")["total_bytes"] / (load.own ? load.workers : 1))

          def memory(load)
            full, empty = %w[full_bytes empty_bytes].map { |fact| load.rows.filter_map { |row| row[fact] } }
            return ["unknown", "unknown"] if full.empty? || empty.empty?
            [megabytes(full), megabytes(full.zip(empty).map { |after, before| after - before })]
          end

          # The median of the rounds, with the least and the most.
          def megabytes(figures) = figure(spread(figures.map { |bytes| bytes / MEGABYTE }), "MB")

          def charts
            drawn = { "hit ratio" => [:hit, "%", :linear], "mean with misses" => [:mean, "us", :log] }
            by_store = measured.group_by { |load| label(load) }
            return [] if by_store.none? { |_store, group| group.size > 1 }
            drawn.map do |what, (figure, unit, scale)|
              series = by_store.transform_values do |group|
                group.map { |load| [load.workers, *load[figure].to_h.values] }
              end
              line_chart("Workers: #{what}", series, x: "workers", y: unit, x_scale: :log, y_scale: scale, command: nil)
            end
          end
        end
      end

    end
  end
end
