# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Capabilities
        # Shows the marks of each store, and the time that the request-local cache saves.
        class View < Tables::View
          article(/: stores\z/)

          COLUMNS = ["serializes", "compression", "local store", "cross process", "node local", "remote", "cluster",
                     "limited by"].freeze
          # Source: "Rails Cache Comparisons", October 2024.
          ARTICLE = { "memory_store" => "yes no no no no no no", "file_store:disk" => "yes yes no yes yes no no",
                      "mem_cache_store" => "yes yes yes yes yes yes yes",
                      "redis_cache_store" => "yes yes yes yes yes yes yes",
                      "solid_cache_store" => "yes yes yes yes partly yes yes" }.transform_values(&:split).freeze

          def title = "Capabilities: what each store does"

          def subtitle = "Each mark was found by asking the store, in two processes"

          def sentence
            shared = asked.select { |row| row["marks"]["cross process"]["mark"] == "yes" }.map { |row| row["store"] }
            failed = rows("capabilities").size - asked.size
            "#{asked.size} stores asked#{", #{failed} could not be" if failed.positive?}; shared by processes: " \
            "#{shared.empty? ? "none" : shared.join(", ")}."
          end

          def fill(document)
            document.section("Stores") do |section|
              section.text("`serializes`: the store serialized an object, so later changes of the object are not " \
                           "seen. `local store`: within `with_local_cache` a second read comes from memory. `cross " \
                           "process`: another process can read a written value. `remote`: the process holds a TCP " \
                           "connection to the store's server. `cluster`: keys were on two servers. `limited by`: " \
                           "the place of 8 MB of values.")
              marks = COLUMNS.to_h { |column| [column, ->(row) { mark(row["marks"][column]) }] }
              section.add(columns_table("Capabilities: stores", rows("capabilities"), { "store" => "store", **marks },
                                        labels: 1))
              section.add(differences) if differences.rows.any?
            end
            document.section("Request-local cache") { |section| section.add(local) } if asked.any?
          end

          private

          def asked = rows("capabilities").select { |row| row["marks"] }

          # A row without marks has a reason, and no status.
          def failure(row) = (Report::Cell.missing(row["reason"]) unless row["marks"])

          def mark(found)
            return Report::Cell.text(found["words"]) if found["words"]
            Report::Cell.mark(found["mark"].to_sym, note: found["note"])
          end

          # The marks that differ from the article.
          def differences
            rows = asked.flat_map do |row|
              COLUMNS.zip(ARTICLE.fetch(row["store"], [])).filter_map do |column, said|
                here = row["marks"][column]
                [row["store"], column, said, mark(here)] if said && here["mark"] != said
              end
            end
            Report::Table.new("Capabilities: where the article says otherwise", rows:,
                              header: ["store", "capability", "the article", "here"],
                              note: "Published in October 2024. There the file store and Solid Cache are limited by " \
                                    "disk space, the others by memory.")
          end

          def local
            columns = { "store" => "store", "off" => ->(row) { local_cell(row, "us") { |off, _on| off } },
                        "on" => ->(row) { local_cell(row, "us") { |_off, on| on } },
                        "off by on" => ->(row) { local_cell(row, "x") { |off, on| off.estimate / on.estimate } } }
            columns_table("Capabilities: a read with and without the request-local cache", asked, columns, labels: 1,
                          reason: ->(row) { Report::Cell.missing("has none") unless row["local"].to_h.key?("off") },
                          note: "The same small String read again and again; microseconds, median and range of the " \
                                "blocks of one process; grey where the ranges overlap.")
          end

          def local_cell(row, unit)
            off, on = row["local"].values_at("off", "on").map { |found| interval(found) }
            figure(yield(off, on), unit, muted: off.low <= on.high && on.low <= off.high)
          end
        end
      end
    end
  end
end
