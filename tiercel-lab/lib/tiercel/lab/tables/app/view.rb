# frozen_string_literal: true

require_relative "../../load/blocks"
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

          def filled?(row) = Engine::Outcome.measured?(row) && blocks(row).any?

          def measured(path) = of(path).select { |row| filled?(row) && !row["store"].match?(AGAIN) }

          # Seconds, CPU ns of the application and of the cache server stand before the requests' ns.
          def blocks(row) = Load::Blocks.new(row, facts: 3)

          RATE = ->((seconds, *), ns) { ns.size / seconds }
          CPU_US = ->((_, cpu, server), ns) { (cpu + server).fdiv(ns.size) / 1e3 }
          SERVER_US = ->((_, _, server), ns) { server.fdiv(ns.size) / 1e3 }
          private_constant :RATE, :CPU_US, :SERVER_US

          # How far the first store came from itself.
          def noise(path)
            again = of(path).find { |row| row["store"].match?(AGAIN) } or return
            first = of(path).find { |row| row["store"] == again["store"][AGAIN, 1] }
            return unless filled?(again) && first && filled?(first)
            blocks(again).noise_to(blocks(first), &CPU_US)
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
            table.raw(row["store"], blocks(row).figures(&CPU_US), unit: "us")
          end

          def figures(row)
            all = blocks(row)
            [Report::Cell.number(Statistics.median(all.figures(&RATE)).to_f, unit: "/s"),
             *[0.5, 0.99].map { |share| Report::Cell.interval(all.quantile(share), unit: "us") },
             Report::Cell.interval(all.interval(&CPU_US), unit: "us"),
             Report::Cell.number(Statistics.median(all.figures(&SERVER_US)).to_f, unit: "us")]
          end

          def compared(row, first, path)
            return ["first", ""] if row.equal?(first)
            return ["", ""] unless filled?(first)
            ratio = blocks(row).ratio_to(blocks(first), &CPU_US)
            word = protocol.verdict(ratio, margin: protocol.margin_for([:loopback], floor: noise(path)))
            [Report::Cell.interval(ratio, unit: "x", muted: word == :cannot_tell), Report::Cell.verdict(word)]
          end

          def spent_us(row) = Report::Format.with_unit(blocks(row).interval(&CPU_US).estimate, "us")

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
