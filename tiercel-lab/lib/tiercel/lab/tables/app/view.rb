# frozen_string_literal: true

require_relative "../../load/blocks"

module Tiercel
  module Lab
    module Tables
      module App
        # Shows a table for each page, with a row for each store: requests a second, quantiles, CPU time, and its ratio
        # to the first store.
        class View < Tables::View
          quick "Quick: few requests; p99 is rough."

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

          def findings = []

          def fill(document)
            pages.each { |path| document.section("#{path}: #{Design::PAGES[path]}") { |one| add_page(one, path) } }
            document.section("Memory") { |section| add_memory(section) } if rows("memory").any?
            document.section("Incidents") { |section| add_incidents(section) } if rows("incidents").any?
          end

          private

          def pages = rows("pages").map { |row| row["path"] }.uniq

          def of(path) = rows("pages").select { |row| row["path"] == path }

          def asked?(row) = Engine::Outcome.measured?(row) && blocks(row).any?

          def measured(path) = of(path).select { |row| asked?(row) && !row["store"].match?(AGAIN) }

          # A block begins with three facts: seconds, CPU ns of the application, and CPU ns of the cache server.
          def blocks(row) = Load::Blocks.new(row, facts: 3)

          RATE = ->((seconds, *), ns) { ns.size / seconds }
          CPU_US = ->((_, cpu, server), ns) { (cpu + server).fdiv(ns.size) / 1e3 }
          SERVER_US = ->((_, _, server), ns) { server.fdiv(ns.size) / 1e3 }
          COLUMNS = { "store" => "store",
                      "requests/s" => [->(row) { Statistics.median(blocks(row).figures(&RATE)).to_f }, "/s"],
                      "p50" => [->(row) { blocks(row).quantile(0.5) }, "us"],
                      "p99" => [->(row) { blocks(row).quantile(0.99) }, "us"],
                      "CPU a request" => [->(row) { blocks(row).interval(&CPU_US) }, "us"],
                      "of it the cache server" => [->(row) { Statistics.median(blocks(row).figures(&SERVER_US)).to_f },
                                                   "us"] }.freeze
          # Columns of the incidents' table. Each row covers one incident in all processes.
          INCIDENTS = { "store" => ->(all) { all.first["store"] },
                        "incident" => ->(all) { all.first["incident"].tr("_", " ") },
                        "answered" => ->(all) { ns(all).size },
                        "failed" => ->(all) { all.sum { |row| row["failed"].to_i } },
                        "p50" => [->(all) { Statistics.median(ns(all)) / 1e3 }, "us"],
                        "slowest" => [->(all) { ns(all).max / 1e3 }, "us"] }.freeze
          private_constant :RATE, :CPU_US, :SERVER_US, :COLUMNS, :INCIDENTS

          # The noise floor: the difference between the two applications of the first store.
          def noise(path)
            again = of(path).find { |row| row["store"].match?(AGAIN) } or return
            first = of(path).find { |row| row["store"] == again["store"][AGAIN, 1] }
            return unless asked?(again) && first && asked?(first)
            blocks(again).noise_to(blocks(first), &CPU_US)
          end

          def add_page(section, path)
            first = of(path).first
            columns = COLUMNS.merge("CPU by the first's" => ->(row) { compared(row, first).first },
                                    "verdict" => ->(row) { compared(row, first).last })
            section.add(columns_table("Application: #{path}", of(path), columns, labels: 1,
                                      floor: noise(path) && Report::Format.percent(noise(path)),
                                      reason: ->(row) { missing(row) unless asked?(row) },
                                      raw: ->(row) { { row["store"] => blocks(row).figures(&CPU_US) } }))
          end

          # @return [Array(Report::Cell, Report::Cell)] the ratio to the first store, and its verdict
          def compared(row, first)
            return ["first", ""] if row.equal?(first)
            return ["", ""] unless asked?(first)
            ratio = blocks(row).ratio_to(blocks(first), &CPU_US)
            word = protocol.verdict(ratio, margin: protocol.margin_for([:loopback], floor: noise(row["path"])),
                                           floor: noise(row["path"]))
            [figure(ratio, "x", muted: word == :cannot_tell), Report::Cell.verdict(word)]
          end

          def spent_us(row) = Report::Format.with_unit(blocks(row).interval(&CPU_US).estimate, "us")

          def add_memory(section)
            kind = notes("memory")["kind"]
            columns = { "store" => ->(held) { held.first["store"] },
                        "#{kind} of master and workers" => [->(held) { megabytes(held, "bytes") }, "MB"],
                        "#{kind} of the cache server" => [->(held) { megabytes(held, "server_bytes") }, "MB"] }
            held = rows("memory").group_by { |row| row["store"] }.values
            section.add(columns_table("Application: memory", held, columns))
          end

          def megabytes(held, name)
            bytes = held.filter_map { |row| row[name] }
            Statistics.median(bytes) / 1e6 if bytes.any?
          end

          def add_incidents(section)
            section.text("While #{pages.first} is asked for: a worker is ended by kill -9, or the cache server hangs.")
            incidents = rows("incidents").group_by { |row| row.values_at("store", "incident") }.values
            section.add(columns_table("Application: incidents", incidents, INCIDENTS, labels: 2,
                                      reason: ->(all) { missing(all.first) if ns(all).empty? }))
          end

          def ns(incidents) = incidents.flat_map { |row| row["ns"] }
        end
      end
    end
  end
end
