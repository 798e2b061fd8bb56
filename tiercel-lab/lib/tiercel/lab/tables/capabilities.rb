# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The table of stores of the first article. Tests give all marks but `cluster`, which follows the documentation.
    module Capabilities
      Tiercel::Lab.declare self, "tables/capabilities/probe" => %i[Probe]

      # Whether a store spreads its keys over several servers, as its documentation says.
      CLUSTER = { "mem_cache_store" => ["yes"], "tiercel:memcached:" => ["yes"],
                  "tiercel:redis:" => ["yes", "as `redis+cluster:`"],
                  "redis_cache_store" => ["partly", "by a client that the application builds (`redis:`)"],
                  "solid_cache_store" => ["partly", "by shards over several databases"] }.freeze

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

      # Tests stores with two processes each, which have the store's own bundle. A row has "marks", or a "reason".
      class Examination < Load::Trial
        private

        def measure
          @design.stores.each do |text|
            contestant = Contestants.parse(text)
            rows << { "store" => contestant.name }.merge(examine(contestant))
            @progress.advance(Design::SECONDS, text)
          end
        end

        def examine(contestant)
          label = "capabilities-#{Process.pid}-#{contestant.name.gsub(/\W+/, "-")}"
          context = context(contestant, label, shared: true) # both processes use the same folder
          Engine::Outcome.of do
            with_fleet(2, path: "tables/capabilities/probe", bundle: contestant.bundle) do |probes|
              probes.open(text: contestant.text) { { context: } }
              { marks: ask(contestant, *probes.jobs) }
            end
          end
        end

        # The tests run one after the other, because each changes the store.
        def ask(contestant, one, other)
          shared = shared?(one, other)
          remote = one.call("remote")
          { "serializes" => one.call("serializes"), "compression" => one.call("compression"),
            "local store" => local_store(one, other, shared), "cross process" => mark(shared),
            "node local" => node_local(shared, remote), "remote" => remote,
            "cluster" => cluster(contestant), "limited by" => { "words" => limit(contestant) } }
        end

        def shared?(one, other)
          one.call("write", name: "shared", value: "one")
          other.call("read", name: "shared") == "one"
        end

        def mark(yes, note = nil) = { "mark" => yes ? "yes" : "no", "note" => note }

        # Within a request-local cache, a process does not see the writes of another process.
        def local_store(one, other, shared)
          one.call("write", name: "shared", value: "one")
          first = one.call("local_begin")
          other.call("write", name: "shared", value: "two")
          second = one.call("local_end")
          return mark(false) unless first == "one"
          return mark(second == "one") if shared
          { "mark" => "partly", "note" => "there is one, and nobody else who could change anything" }
        end

        def node_local(shared, remote)
          return mark(false, "each process has its own") unless shared
          mark(true, ("with a server on the node" if remote["mark"] == "yes"))
        end

        # In a stack of tiers the last tier counts.
        def cluster(contestant)
          last = contestant.tiers.empty? ? contestant.text : "tiercel:#{contestant.tiers.last}"
          word, note = CLUSTER[last] || CLUSTER.find { |store, _| last.start_with?("#{store}:") }&.last || ["no"]
          { "mark" => word, "note" => note }
        end

        def limit(contestant)
          return "nothing is kept" unless contestant.keeps?
          place = contestant.medium == :disk || contestant.servers.include?(:postgresql) ? "disk" : "memory"
          contestant.servers.any? ? "#{place} of the server" : place
        end
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
            section.text("`serializes`: the store serialized an object, so later changes of the object are not " \
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
