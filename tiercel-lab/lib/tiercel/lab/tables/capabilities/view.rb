# frozen_string_literal: true

require_relative "../view"

module Tiercel
  module Lab
    module Tables
      module Capabilities
        # The table of stores and their marks, and what the request-local cache saves.
        class View < Tables::View
          article(/: stores\z/)

          COLUMNS = ["serializes", "compression", "local store", "cross process", "node local", "remote", "cluster",
                     "limited by"].freeze
          # Of "Rails Cache Comparisons", October 2024.
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
              section.text("`serializes`: an object was made bytes of, and a later change of it is not seen. `local " \
                           "store`: inside of `with_local_cache` a read is repeated from memory. `cross process`: " \
                           "another process reads what was written. `remote`: the process holds a TCP connection to " \
                           "the store's server. `cluster`: keys were found on two servers. `limited by`: where 8 MB " \
                           "went.")
              section.add(marks)
              section.add(differences) if differences.rows.any?
            end
            document.section("Request-local cache") { |section| section.add(local) }
          end

          private

          def asked = rows("capabilities").select { |row| row["marks"] }

          def marks
            table = Report::Table.new("Capabilities: stores", header: ["store", *COLUMNS], command:)
            rows("capabilities").each do |row|
              unless row["marks"]
                next table.row(row["store"], Report::Cell.missing(row["reason"]), *[""] * (COLUMNS.size - 1))
              end
              table.row(row["store"], *COLUMNS.map { |column| mark(row["marks"][column]) })
            end
            table
          end

          def mark(found)
            return Report::Cell.text(found["words"]) if found["words"]
            Report::Cell.mark(found["mark"].to_sym, note: found["note"])
          end

          # Where the article's table says something else.
          def differences
            @differences ||= Report::Table.new("Capabilities: where the article says otherwise",
                                               header: ["store", "capability", "the article", "here"],
                                               note: "Published in October 2024. There the file store and Solid " \
                                                     "Cache are limited by disk space, the others by memory.")
                         .tap do |table|
              asked.each do |row|
                COLUMNS.zip(ARTICLE.fetch(row["store"], [])) do |column, said|
                  here = row["marks"][column]
                  table.row(row["store"], column, said, mark(here)) if said && here["mark"] != said
                end
              end
            end
          end

          def local
            table = Report::Table.new("Capabilities: a read with and without the request-local cache",
                                      header: ["store", "off", "on", "off by on"], command:,
                                      note: "The same small String read again and again; microseconds, median and " \
                                            "range of the blocks of one process; grey where the ranges overlap.")
            asked.each do |row|
              off, on = row["local"].to_h.values_at("off", "on")
              next table.row(row["store"], Report::Cell.missing("has none"), "", "") unless off
              muted = off["low"] <= on["high"] && on["low"] <= off["high"]
              table.row(row["store"], *[off, on].map { |us| Report::Cell.interval(interval(us), unit: "us", muted:) },
                        Report::Cell.number(off["estimate"] / on["estimate"], unit: "x", muted:))
            end
            table
          end
        end
      end
    end
  end
end
