# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # One line of the configuration changed: Rails' stores and Solid Cache, each beside the store of Tiercel that
    # takes its place. The pairs differ in nothing but the line.
    module Switch
      Tiercel::Lab.declare self, "tables/switch/memory" => %i[Memory]

      PAIRS = Answer::Now::IN_PLACE
      VALUES = %w[html-2kb html-24kb].freeze
      OPERATIONS = %w[read write read_multi].freeze
      VALUE = "html-2kb"

      # The stores whose memory counts.
      #
      # @!attribute [r] stores
      #   @return [Array<String>] texts of contestants
      # @!attribute [r] workers
      #   @return [Integer] processes
      # @!attribute [r] entries
      #   @return [Integer] entries that all of them read
      Design = Data.define(:stores, :workers, :entries)

      class Design
        FULL = new(stores: PAIRS.to_a.flatten, workers: 8, entries: 12_000)
        QUICK = FULL.with(entries: 2_000)
        # Seconds to build a store in all workers, and of a call.
        STORE_SECONDS = 2.5
        CALL_SECONDS = 1.5e-4

        # @return [Float] the estimate for one store
        def store_seconds
          STORE_SECONDS + (workers * entries * Memory::PASSES * CALL_SECONDS / [Etc.nprocessors, workers].min)
        end

        # @return [Float]
        def expected_seconds = stores.size * store_seconds
      end

      # The memory of the workers, for each store of the pairs.
      class Trial < Engine::Trial
        # @return [Array<Hash>] the servers of all stores
        def servers = @described.to_a

        private

        def measure
          @design.stores.each_with_index do |text, index|
            @rows << { "store" => text, **held(Contestants.parse(text), index) }
            @progress.advance(@design.store_seconds, "memory of #{text}")
          end
        end

        # Each store has a server of its own, because a server keeps the memory of the entries of an earlier one. The
        # workers use all processors.
        def held(contestant, index)
          pool = Engine::ServerPool.new(pinning: @pinning)
          Engine::Outcome.of do
            job = job("tables/switch/memory", bundle: contestant.bundle, pinning: Engine::Pinning.new(cpus: []))
            job.call("hold", text: contestant.text, value: Values.fetch(VALUE).to_spec, seed: @seed,
                             **@design.to_h.slice(:entries, :workers),
                             context: { servers: pool.facts(contestant.servers), folders: @scratch.folders,
                                        label: "switch-#{index}" })
          ensure
            job&.stop
            @described = @described.to_a | pool.describe
            pool.stop
          end
        end
      end

      class Table < Tables::Table
        called "switch", "One line changed: each store of Rails beside Tiercel."
        example "switch --quick", "switch --from redis_cache_store", "switch --plan"
        takes :quick, :seed, :cells
        full blocks: 16
        in_all 7, weight: 2

        def plan_in_words = "Memory of #{design.workers} workers with #{design.entries} entries of 2 KB, and times:"

        def options(parser)
          names parser, "--from", PAIRS, :pairs
          full, quick = Design::FULL, Design::QUICK
          fact parser, "--workers N", "processes whose memory counts (#{full.workers})", :workers, :workers
          fact parser, "--entries N", "entries of 2 KB that they hold (#{full.entries}; quick #{quick.entries})",
               :entries, :count
        end

        def plan
          values = (settings.quick ? VALUES.first(1) : VALUES).map { |name| Values.fetch(name) }
          operations = (settings.quick ? OPERATIONS.first(2) : OPERATIONS).map { |name| Operations.fetch(name) }
          design.stores.each_slice(2).flat_map { |pair| comparisons_of(values, operations, parse_all(pair)) }
        end

        # @return [Design]
        def design
          @design ||= designed(Design, stores: facts_given.delete(:pairs)&.flat_map { |from| PAIRS.assoc(from) })
        end

        def take(comparisons)
          super
          run.table("memory", tried(Trial).rows, **design.to_h, kind: "PSS")
        end
      end

      class View < Tables::View
        def title = "One line changed"

        def sentence
          found = PAIRS.filter_map do |name, ours|
            cell = cells(role: "contestant").find do |one|
              one["contestant"]["text"] == ours && one["operation"] == "read"
            end
            next unless cell && measured?(cell) && cell["summary"]["ratio"] && cell["summary"]["verdict"]
            "#{name} to #{ours.delete_prefix("tiercel:")} #{words(cell)}"
          end
          return "Nothing could be measured." if found.empty?
          "A read of #{title_of(cells.first["value"])}. #{found.join("; ")}."
        end

        def fill(document)
          document.section("Time") { |section| add_times(section) } if cells.any?
          document.section("Memory") { |section| add_memory(section) } if rows("memory").any?
          pairs = PAIRS.slice(*(notes("memory").values_at("pairs", "stores").compact.first || PAIRS.keys))
          document.section("The lines") { |section| pairs.each { |pair| line(section, pair) } }
        end

        private

        def words(cell)
          return "cannot tell" unless %w[faster slower same].include?(cell["summary"]["verdict"])
          "#{Report::Cell.interval(interval(cell["summary"]["ratio"]), unit: "x")} of the time"
        end

        def add_times(section)
          columns = { "store" => :name, "operation" => ->(cell) { cell["operation"] },
                      "value" => ->(cell) { title_of(cell["value"]) }, "time a call" => :time, "ratio" => :ratio,
                      "verdict" => ->(cell) { measured?(cell) ? verdict(cell) : "" }, "objects" => :objects }
          section.add(cell_table("Switch: time by the store of before", cells, columns, labels: 3))
        end

        def add_memory(section)
          facts = notes("memory")
          columns = { "store" => "store",
                      "#{facts["kind"]} of #{facts["workers"]} workers" =>
                        [->(row) { megabytes(row["bytes"]) }, "MB"],
                      "after malloc_trim" => [->(row) { megabytes(row["trimmed"]) }, "MB"],
                      "of it their entries" => [->(row) { megabytes(row["grown"]) }, "MB"],
                      "the server's" => [->(row) { megabytes(row["server_bytes"]) }, "MB"] }
          note = "Each worker reads #{facts["entries"]} entries of 2 KB twice; #{Design::FULL.entries} are most of " \
                 "what a store of 32 MB holds. The first column is as the system counts it, with freed memory that " \
                 "glibc keeps; the second is after a collection and malloc_trim, as is what the entries take."
          section.add(columns_table("Switch: memory", rows("memory"), columns, labels: 1, note:))
        end

        def megabytes(bytes) = bytes && (bytes / 1e6)

        def line(section, pair)
          lines = pair.map { |text| Contestants.parse(text, checks: false).configuration }
          section.code(lines.join("\n"), title: "#{pair.first}:")
        end
      end
    end
  end
end
