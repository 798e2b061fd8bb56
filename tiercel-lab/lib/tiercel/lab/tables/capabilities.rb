# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The table of stores of the first article. Tests give all marks but `cluster`, which follows the documentation.
    module Capabilities
      Tiercel::Lab.declare self, "tables/capabilities/probe" => %i[Examination Probe]

      # The stores to test.
      #
      # @!attribute [r] stores
      #   @return [Array<String>] texts of contestants
      Design = Data.define(:stores)

      class Design
        FULL = new(stores: ["memory_store", "file_store:disk", "mem_cache_store", "redis_cache_store",
                            "solid_cache_store", "solid_cache_store:postgresql", "litecache", "tiercel:memory:",
                            "tiercel:shared:", "tiercel:file:", "tiercel:sqlite:", "tiercel:memcached:",
                            "tiercel:redis:", "tiercel:shared: sqlite:", "tiercel:shared: redis:"])
        QUICK = FULL
        # The approximate time to test one store.
        SECONDS = 3.0

        # @return [Float]
        def expected_seconds = stores.size * SECONDS
      end

      class Table < Tables::Table
        called "capabilities", "Tests whether each store serializes, compresses and shares."
        example "capabilities", "capabilities --quick",
                "capabilities --store tiercel:shared: --store memory_store",
                "capabilities --store 'tiercel:shared: redis:'"
        takes :quick, :require
        in_all 10

        def options(parser) = store_option(parser, default: "all of the lab's")

        def plan_in_words
          "#{design.stores.size} stores are asked by two processes each: #{design.stores.join(", ")}."
        end

        def take(_comparisons)
          rows = tried(Examination).rows
          run.table("capabilities", rows) if rows.any?
        end

        # @return [Design]
        def design = @design ||= designed(Design, stores: @stores&.map(&:text))
      end

      # Shows the marks of each store.
      class View < Tables::View
        article(/: stores\z/)

        COLUMNS = ["serializes", "compression", "local store", "cross process", "node local", "remote", "cluster",
                   "limited by"].freeze

        def title = "Capabilities: what each store does"

        def subtitle = "Each mark but the last two was found by asking the store, in two processes"

        def sentence
          shared = asked.select { |row| row["marks"]["cross process"]["mark"] == "yes" }.map { |row| row["store"] }
          failed = rows("capabilities").size - asked.size
          "#{asked.size} stores asked#{", #{failed} could not be" if failed.positive?}; shared by processes: " \
          "#{shared.empty? ? "none" : shared.join(", ")}."
        end

        def fill(document)
          document.section("Stores") do |section|
            section.text("`serializes`: the store keeps a copy, so later changes of a written object are not " \
                         "seen. `local store`: within `with_local_cache` a second read comes from memory. `cross " \
                         "process`: another process can read a written value. `remote`: the process holds a TCP " \
                         "connection to the store's server. `cluster` and `limited by` are what the store is " \
                         "documented to do.")
            marks = COLUMNS.to_h { |column| [column, ->(row) { mark(row["marks"][column]) }] }
            section.add(columns_table("Capabilities: stores", rows("capabilities"), { "store" => "store", **marks },
                                      labels: 1))
            section.add(differences) if differences.rows.any?
          end
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
            COLUMNS.zip(Published.of("capabilities").fetch(row["store"], [])).filter_map do |column, said|
              here = row["marks"][column]
              [row["store"], column, said, mark(here)] if said && here["mark"] != said
            end
          end
          Report::Table.new("Capabilities: where the article says otherwise", rows:,
                            header: ["store", "capability", "the article", "here"],
                            note: "Published in October 2024. There the file store and Solid Cache are limited by " \
                                  "disk space, the others by memory.")
        end
      end
    end
  end
end
