# frozen_string_literal: true

require_relative "../view"
require_relative "design"

module Tiercel
  module Lab
    module Tables
      module App
        # For each page a row for each store: requests a second, quantiles, CPU time, and the ratio of CPU time to the
        # first store's.
        class View < Tables::View
          HEADER = ["store", "requests/s", "p50", "p99", "CPU a request", "of it the cache server",
                    "CPU by the first's", "verdict"].freeze
          AGAIN = /\A(.*) again\z/

          def title = "A Rails application under Puma"

          def subtitle
            facts = notes("pages")
            "Rails #{facts["rails"]}, #{facts["workers"]} workers of #{facts["threads"]} threads, " \
              "#{facts["connections"]} connections; #{super}"
          end

          def sentence
            found = measured(pages.first)
            return "Nothing was measured." if found.size < 2
            "#{pages.first} (#{Design::PAGES[pages.first]}): #{found.map { |row| "#{row["store"]} #{spent_us(row)}" }
              .first(12).join(", ")} of CPU a request."
          end

          def quick_words = quick? ? ["Quick: few requests; p99 is rough."] : []

          def findings = []

          def fill(document)
            pages.each { |path| document.section("#{path}: #{Design::PAGES[path]}") { |one| add_page(one, path) } }
            document.section("Memory") { |section| add_memory(section) } if rows("memory").any?
            document.section("Incidents") { |section| add_incidents(section) } if rows("incidents").any?
          end

          private

          def pages = rows("pages").map { |row| row["path"] }.uniq

          def of(path) = rows("pages").select { |row| row["path"] == path }

          def filled?(row) = Engine::Outcome.measured?(row) && row["blocks"].any?

          def measured(path) = of(path).select { |row| filled?(row) && !row["store"].match?(AGAIN) }

          # @return [Hash{Integer => Hash{Integer => Float}}] by process, then block
          def by_block(row)
            row["blocks"].group_by(&:first).transform_values { |blocks| blocks.to_h { |one| [one[1], yield(one)] } }
          end

          def cpu_ns(row) = by_block(row) { |_, _, _, cpu, server, *ns| (cpu + server).fdiv(ns.size) }

          def ratio_of(one, other) = Engine::Paired.ratio(cpu_ns(other), cpu_ns(one))

          # How far the first store came from itself.
          def noise(path)
            again = of(path).find { |row| row["store"].match?(AGAIN) } or return
            first = of(path).find { |row| row["store"] == again["store"][AGAIN, 1] }
            return unless filled?(again) && first && filled?(first)
            Math.exp(ratio_of(first, again).map { |ratio| Math.log(ratio) }.reach) - 1.0
          end

          def add_page(section, path)
            section.table("Application: #{path}", header: HEADER, command:) do |table|
              table.floor = Report::Format.percent(noise(path)) if noise(path)
              of(path).each { |row| add_row(table, row, of(path).first, path) }
            end
          end

          def add_row(table, row, first, path)
            return table.row(row["store"], missing(row), *[""] * (HEADER.size - 2)) unless filled?(row)
            table.row(row["store"], *figures(row), *compared(row, first, path))
            table.raw(row["store"], cpu_ns(row).values.flat_map(&:values).map { |ns| ns / 1e3 }, unit: "us")
          end

          def figures(row)
            [Report::Cell.number(median_of(row) { |_, _, seconds, _, _, *ns| ns.size / seconds }, unit: "/s"),
             quantile(row, 0.5), quantile(row, 0.99),
             Report::Cell.interval(interval_of(row) { |_, _, _, cpu, server, *ns| (cpu + server) / ns.size / 1e3 },
                                   unit: "us"),
             Report::Cell.number(median_of(row) { |_, _, _, _, server, *ns| server / ns.size / 1e3 }, unit: "us")]
          end

          def compared(row, first, path)
            return ["first", ""] if row.equal?(first)
            return ["", ""] unless filled?(first)
            ratio = ratio_of(first, row)
            word = protocol.verdict(ratio, margin: protocol.margin_for([:loopback], floor: noise(path)))
            [Report::Cell.interval(ratio, unit: "x", muted: word == :cannot_tell), Report::Cell.verdict(word)]
          end

          def median_of(row, &) = Statistics.median(row["blocks"].map(&)).to_f

          def interval_of(row, &)
            Statistics::MedianInterval.of(by_block(row, &).values.map(&:values))
          end

          def spent_us(row)
            Report::Format.with_unit(interval_of(row) { |_, _, _, cpu, server, *ns|
              (cpu + server) / ns.size / 1e3
            }.estimate, "us")
          end

          def quantile(row, share)
            each = row["blocks"].group_by(&:first).values.map do |blocks|
              [Statistics.quantile(blocks.flat_map { |one| one.drop(5) }, share) / 1e3]
            end
            Report::Cell.interval(Statistics::MedianInterval.of(each), unit: "us")
          end

          def add_memory(section)
            kind = notes("memory")["kind"]
            section.table("Application: memory", header: ["store", "#{kind} of master and workers",
                                                          "#{kind} of the cache server"], command:) do |table|
              rows("memory").group_by { |row| row["store"] }.each do |store, held|
                table.row(store, *%w[bytes server_bytes].map { |name| megabytes(held, name) })
              end
            end
          end

          def megabytes(held, name)
            bytes = held.filter_map { |row| row[name] }
            bytes.empty? ? "" : Report::Cell.number(Statistics.median(bytes) / 1e6, unit: "MB")
          end

          def add_incidents(section)
            section.text("While #{pages.first} is asked for: a worker is ended by kill -9, or the cache server hangs.")
            header = ["store", "incident", "answered", "failed", "p50", "slowest"]
            section.table("Application: incidents", header:, command:) do |table|
              rows("incidents").group_by { |row| row.values_at("store", "incident") }.each do |names, all|
                ns = all.flat_map { |row| row["ns"] }
                next table.row(*names, missing(all.first), "", "", "") if ns.empty?
                table.row(names[0], names[1].tr("_", " "), ns.size, all.sum { |row| row["failed"].to_i },
                          *[Statistics.median(ns), ns.max].map { |one| Report::Cell.number(one / 1e3, unit: "us") })
              end
            end
          end
        end
      end
    end
  end
end
