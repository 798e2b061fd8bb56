# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The table of stores of the first article. Every mark is the result of a test of the store.
    module Capabilities
      Tiercel::Lab.declare self, "tables/capabilities/probe" => %i[Probe ServerFigures Sockets]

      # Tests whether a store spreads its keys over two servers: starts two servers, configures the store with both,
      # and counts the entries on each. In a stack of tiers this is the last tier.
      class Cluster
        KEYS = 60
        MEMCACHED = { "mem_cache_store" => "mem_cache_store:%s,%s",
                      "tiercel:memcached:" => "tiercel:memcached://%s,%s" }.freeze

        # @param contestant [Contestant]
        # @param pool [Engine::ServerPool]
        # @param folders [Hash{String => String}] the run's own, by medium
        # @param requires [Array<String>]
        def initialize(contestant, pool:, folders:, requires:)
          @text = contestant.text
          *near, last = @text.delete_prefix("tiercel:").split if @text.start_with?("tiercel:")
          @near = near&.map { |tier| "#{tier} " }&.join
          @text = "tiercel:#{last}" if last
          @pool = pool
          @folders = folders
          @requires = requires
        end

        # @return [Hash{String => String, nil}] "mark" and "note"
        def mark
          if @text.start_with?("solid_cache")
            said("partly", "by shards over several databases, set up in the application: not probed")
          elsif @text == "redis_cache_store"
            said("partly", "by a client that the application builds (`redis:`): not probed")
          elsif @text == "tiercel:redis:" then on_redis
          elsif MEMCACHED.key?(@text) then on_memcached
          else said("no")
          end
        end

        private

        def said(mark, note = nil) = { "mark" => mark, "note" => note }

        def on_memcached
          servers = Array.new(2) { Servers::Memcached.new.start }
          counts = spread(format(MEMCACHED[@text], *servers.map(&:address))) do
            servers.map { |server| ServerFigures.items("memcached://#{server.address}").to_i }
          end
          return said("yes") if counts.all?(&:positive?)
          said("no", "of #{KEYS} keys #{counts.join(" and ")} were on two servers")
        rescue Error, Servers::Error => e
          said("no", "not probed: #{e.message.lines.first.strip}")
        ensure
          servers&.each(&:stop)
        end

        # A Redis cluster has a URL scheme of its own, which only Tiercel knows.
        def on_redis
          last = spread("tiercel:redis+cluster:", @pool.facts([:redis_cluster])) do |job|
            job.call("read", name: "spread-#{KEYS - 1}")
          end
          last == "value" ? said("yes", "as `redis+cluster:`") : said("no")
        rescue Error => e
          said("no", "not probed: #{e.message}")
        end

        # @param text [String] text of the store, without its nearer tiers
        # @yieldparam job [Engine::Job] the job whose store has written all keys
        def spread(text, servers = {})
          job = Engine::Job.new("tables/capabilities/probe", requires: @requires).start
          text = text.sub("tiercel:") { "tiercel:#{@near}" }
          reason = job.call("open", text:, servers:, folders: @folders, label: "cluster")["reason"]
          raise Error, reason if reason
          job.call("spread", count: KEYS)
          yield job
        ensure
          job&.stop
        end
      end

      # Tests stores with two processes each, which have the store's own bundle. A row has "marks" and "local", or a
      # "reason".
      class Examination < Engine::Trial
        # The approximate time to test one store.
        SECONDS = 3.0

        # @param stores [Array<String>]
        # @param blocks [Integer] number of blocks of reads with and without the request-local cache
        def initialize(stores, blocks:, **)
          super(**)
          @stores = stores
          @blocks = blocks
        end

        private

        def measure
          @stores.each do |text|
            contestant = Contestants.parse(text)
            rows << { "store" => contestant.name }.merge(examine(contestant))
            @progress.advance(SECONDS, text)
          end
        end

        def examine(contestant)
          Engine::Outcome.of do
            jobs = Array.new(2) { job("tables/capabilities/probe", bundle: contestant.bundle) }
            reason = jobs.filter_map { |job| open(job, contestant)["reason"] }.first
            raise CannotRun, reason if reason
            found = { marks: ask(contestant, *jobs), local: local_cost(jobs.first) }
            found.tap { jobs.each { |job| job.call("close") } }
          ensure
            jobs&.each(&:stop)
          end
        end

        def open(job, contestant)
          job.call("open", text: contestant.text, servers: @pool.facts(contestant.servers), folders: @scratch.folders,
                           label: "capabilities-#{Process.pid}-#{contestant.name.gsub(/\W+/, "-")}")
        end

        # The tests run one after the other, because each changes the store.
        def ask(contestant, one, other)
          shared = shared?(one, other)
          remote = one.call("remote")
          { "serializes" => one.call("serializes"), "compression" => one.call("compression"),
            "local store" => local_store(one, other, shared), "cross process" => mark(shared),
            "node local" => node_local(shared, remote), "remote" => remote,
            "cluster" => Cluster.new(contestant, pool: @pool, folders: @scratch.folders, requires: @requires).mark,
            "limited by" => one.call("limited_by") }
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

        def local_cost(job)
          job.call("local_cost", blocks: @blocks).transform_values { |us| Statistics::MedianInterval.of([us]).record }
        end
      end

      class Table < Tables::Table
        called "capabilities", "Tests whether each store serializes, compresses and shares."
        example "capabilities", "capabilities --quick",
                "capabilities --store tiercel:shared: --store memory_store",
                "capabilities --store 'tiercel:shared: redis:'"
        takes :quick, :require
        in_all 10

        STORES = ["memory_store", "file_store:disk", "mem_cache_store", "redis_cache_store", "solid_cache_store",
                  "solid_cache_store:postgresql", "litecache", "tiercel:memory:", "tiercel:shared:", "tiercel:file:",
                  "tiercel:sqlite:", "tiercel:memcached:", "tiercel:redis:", "tiercel:shared: sqlite:",
                  "tiercel:shared: redis:"].freeze
        BLOCKS = 15
        QUICK_BLOCKS = 7

        def options(parser) = store_option(parser, default: "all of the lab's")

        def plan_in_words
          "#{chosen.size} stores are asked by two processes each, in about #{expected_seconds.round} s: " \
          "#{chosen.join(", ")}."
        end

        def expected_seconds = chosen.size * Examination::SECONDS

        def take(_comparisons)
          examination = Examination.new(chosen, blocks: settings.quick ? QUICK_BLOCKS : BLOCKS, seed: settings.seed,
                                                requires: settings.requires)
          run.try(examination, expected_seconds)
          run.table("capabilities", examination.rows) if examination.rows.any?
        end

        private

        def chosen = @stores&.map(&:text) || STORES
      end

      # Shows the marks of each store, and the time that the request-local cache saves.
      class View < Tables::View
        article(/: stores\z/)

        COLUMNS = ["serializes", "compression", "local store", "cross process", "node local", "remote", "cluster",
                   "limited by"].freeze

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

  module Tables
    add Capabilities::Table
  end
end
