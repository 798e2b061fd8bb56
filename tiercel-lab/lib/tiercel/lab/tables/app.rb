# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # A Rails application under Puma, with each store.
    module App
      # The measured stores and pages, and the requests.
      #
      # @!attribute [r] stores
      #   @return [Array<String>] some of {STORES}
      # @!attribute [r] pages
      #   @return [Array<String>] some of {PAGES}
      # @!attribute [r] requests
      #   @return [Integer] requests to a store in half a block, in equal parts over the connections
      # @!attribute [r] connections
      #   @return [Integer]
      # @!attribute [r] line
      #   @return [String] release line of Rails
      # @!attribute [r] protocol
      #   @return [Engine::Protocol, nil] its processes and blocks
      Design = Data.define(:stores, :pages, :requests, :connections, :line, :protocol) do
        def initialize(requests:, connections:, **)
          super(requests: [requests / connections, 1].max * connections, connections:, **)
        end
      end

      class Design
        # The `config.cache_store` line of a store.
        #
        # @!attribute [r] text
        #   @return [String] as the application takes it; `%<memory>s` and `%<disk>s` are folders of the run's own
        # @!attribute [r] server
        #   @return [Symbol, nil]
        Store = Data.define(:text, :server) do
          # @param places [Hash{Symbol => String}] folders and addresses
          # @return [String] the text with its places. (`format` warns about places that the text does not have.)
          def filled(places) = text.gsub(/%<(\w+)>s/) { places.fetch($1.to_sym) }
        end

        # All stores have their default options; both SQLite stores wait two seconds for a busy database.
        STORES = {
          "tiercel:shared:" => 'tiercel_store shared:%<memory>s/segment {"size":"64MB"}',
          "tiercel:memory:" => "tiercel_store memory:",
          "tiercel:file:" => "tiercel_store file:%<disk>s/records",
          "tiercel:sqlite:" => "tiercel_store sqlite:%<disk>s/cache.db",
          "tiercel:redis:" => ["tiercel_store %<url>s", :redis],
          "tiercel:memcached:" => ["tiercel_store %<url>s", :memcached],
          "tiercel:shared: sqlite:" =>
            "tiercel_store shared:%<memory>s/segment?size=64MB&ttl=60 sqlite:%<disk>s/cache.db",
          "tiercel:shared: redis:" => ["tiercel_store shared:%<memory>s/segment?size=64MB %<url>s", :redis],
          "memory_store" => "memory_store",
          "file_store" => "file_store %<disk>s/files",
          "redis_cache_store" => ['redis_cache_store {"url":"%<url>s"}', :redis],
          "mem_cache_store" => ["mem_cache_store %<address>s", :memcached],
          "solid_cache_store" => "solid_cache_store",
          "null_store" => "null_store",
        }.transform_values { |text, server| Store.new(text, server) }.freeze

        # The cache calls of each page.
        PAGES = {
          "/products" => "50 fragments",
          "/products/guides" => "10 fragments of 8 KB",
          "/products/summaries" => "20 by record",
          "/api/products" => "one value of 50 Hashes",
          "/products/1" => "a counter, a fragment",
          "/search?q=amber" => "a rate limit",
        }.freeze
        # Pages with another body for every request.
        COUNTED = %w[/products/1].freeze

        FULL = new(stores: STORES.keys, pages: PAGES.keys, requests: 60, connections: 4,
                   line: Engine::Shop::LINES.first, protocol: nil)
        QUICK = FULL.with(requests: 24)
        START_SECONDS = 4.0
        REQUEST_SECONDS = 0.006
        # Requests over each connection before the measurement: YJIT compiles at the 30th call, and there are two
        # workers.
        WARM_UP = 80

        # The end of the name of the first store's second application.
        AGAIN = " again"

        # @return [Array<String>] names of the applications; the first store has a second one, for the noise floor
        def sides = [*stores, "#{stores.first}#{AGAIN}"]

        # @return [Float] an estimate
        def expected_seconds
          of_row = REQUEST_SECONDS * (WARM_UP + (protocol.blocks * 2 * requests))
          protocol.processes * sides.size * (START_SECONDS + (pages.size * of_row))
        end
      end

      # Runs the application under Puma.
      class Applications < Engine::Trial
        private

        # All applications run from one copy; their environments differ.
        def prepare(line)
          @shop = Engine::Shop.new(File.join(@scratch.folders.fetch("disk"), "shop"), line:)
          @shop.bundle.install(progress: @progress)
          @shop.copy.prepare
        end

        # @param store [String] one of {Design::STORES}
        # @param name [String] of its folders
        # @param options [Hash] see {Load::PumaServer#initialize}
        # @return [Load::Application]
        # @raise [CannotRun]
        def start(store, name = store, **options)
          folders = { "memory" => "tmpfs", "disk" => "disk" }.to_h do |kind, medium|
            folder = File.join(@scratch.folders[medium] || @scratch.folders.fetch("disk"), name.gsub(/\W/, "-"))
            FileUtils.rm_rf(folder)
            FileUtils.mkdir_p(folder)
            [kind.to_sym, folder]
          end
          Load::Application.new(@shop, Design::STORES.fetch(store), folders, **options).start
        rescue Servers::Error => e
          raise CannotRun, e.message.lines.first(2).join.strip
        end
      end

      # Runs an application for every store, all at the same time, and sends them requests in turn, alternately in
      # forward and in reverse order.
      class Trial < Applications
        # Rows have "store", "path", "blocks" (process, block, seconds, CPU ns of the application, CPU ns of the cache
        # server, ns of each request).
        def initialize(...)
          super
          @by_side = @design.sides.product(@design.pages).to_h do |side, path|
            [[side, path], blank(store: side, path:, blocks: [], bytes: nil)]
          end
          @rows = @by_side.values
        end

        # @return [Array<Hash>] memory of the applications: "store", "process", "bytes", "server_bytes"
        attr_reader :memory

        private

        def measure
          @memory = []
          prepare(@design.line)
          processes = @design.protocol.processes
          processes.times do |process|
            run_process(process)
            @progress.advance(@design.expected_seconds / processes, "round #{process + 1}")
          end
        end

        def run_process(process)
          @client = job("load/pages", pinning: Engine::Pinning.new(cpus: []))
          sites = in_turn(@design.sides, process).to_h { |side| [side, start_side(side)] }.compact
          warm_up(sites)
          @design.protocol.blocks.times { |block| run_block(sites, process, block) }
          keep_memory(sites, process)
        ensure
          @client&.stop
          sites&.each_value(&:stop)
        end

        # @return [Load::Application, nil]
        def start_side(side)
          start(side.delete_suffix(Design::AGAIN), side)
        rescue CannotRun => e
          @design.pages.each { |path| note(@by_side[[side, path]], Engine::Outcome.of { raise e }) }
          nil
        end

        # All bodies of a page must equal the first one. An application without a cache renders the page each time.
        def warm_up(sites)
          @digests ||= {}
          sites.each do |side, site|
            @design.pages.each do |path|
              answer = ask(site, path, Design::WARM_UP * @design.connections)
              row = @by_side[[side, path]]
              note(row, answer)
              row["bytes"] ||= answer["bytes"]
              @digests[path] ||= answer["sha256"] unless Design::COUNTED.include?(path)
            end
          end
        end

        def ask(site, path, requests)
          @client.call("ask", url: site.url, path:, requests:, connections: @design.connections,
                              sha256: @digests[path])
        end

        def run_block(sites, process, block)
          @design.pages.each do |path|
            Engine::Slots.block(sites.keys, block).each_with_object({}) do |side, taken|
              row = @by_side[[side, path]]
              next unless measured?(row)
              answer, cpu, server_cpu = sites[side].counted { ask(sites[side], path, @design.requests) }
              note(row, answer)
              next unless measured?(row)
              mine = taken[side] ||= [process, block, 0.0, 0, 0].tap { |one| row["blocks"] << one }
              add(mine, answer, cpu, server_cpu)
            end
          end
        end

        def add(taken, answer, cpu, server_cpu)
          taken[2] += answer["seconds"]
          taken[3] += (cpu * 1e9).round
          taken[4] += (server_cpu * 1e9).round
          taken.concat(answer["ns"])
        end

        def keep_memory(sites, process)
          sites.each { |side, site| @memory << { "store" => side, "process" => process, **site.memory } }
        end
      end

      class Table < Tables::Table
        called "app", "A Rails application under Puma with two workers, on every store."
        example "app --quick", "app --page /products --store tiercel:shared:,memory_store",
                "app --rails 7.2"
        takes :quick, :seed
        full processes: 4, most_processes: nil, blocks: 4
        quick processes: 1, blocks: 4
        # With files and memcached, which the third article compared in whole requests.
        in_all 110, arguments: ["--page", "/products", "--store", "tiercel:shared:,memory_store,file_store," \
                                                                  "mem_cache_store,redis_cache_store,null_store"]

        def options(parser)
          names parser, "--store", Design::STORES, :stores
          names parser, "--page", Design::PAGES, :pages
          fact parser, "--requests N", "in half a block (#{Design::FULL.requests})", :requests, :count
          fact parser, "--connections N", "at once (4)", :connections, :count
          parser.on("--rails LINE", Engine::Shop::LINES, Engine::Shop::LINES.join(", ")) do |line|
            facts_given[:line] = line
          end
        end

        def plan_in_words
          "#{design.stores.join(", ")}; #{design.pages.join(", ")}: #{protocol.processes} x fresh applications, " \
            "#{protocol.blocks} blocks x #{2 * design.requests} requests over #{design.connections} connections."
        end

        def take(_comparisons)
          run.start(protocol)
          trial = tried(Trial)
          run.table("pages", trial.rows, **design.to_h.slice(:requests, :connections), rails: design.line,
                                         workers: Load::PumaServer::WORKERS, threads: Load::PumaServer::THREADS)
          run.table("memory", trial.memory.to_a, kind: "PSS")
        end

        # @return [Design]
        def design = @design ||= designed(Design, protocol:)

        private

        # The user chose every row, so a row that cannot run fails the command.
        def asked_in_vain?(row) = row["status"] == Engine::Outcome::CANNOT_RUN
      end

      # Shows a table for each page, with a row for each store: requests a second, quantiles, CPU time, and its ratio
      # to the first store.
      class View < Tables::View
        article(%r{\AApplication: /})
        quick "Quick: few requests; p99 is rough."

        AGAIN = /\A(.*) again\z/
        # A recorded block begins with process, block, seconds, CPU ns of the application, and CPU ns of the cache
        # server; the ns of each request follow.
        FACTS = 5

        def title = "A Rails application under Puma"

        def subtitle
          facts = notes("pages")
          "Rails #{facts["rails"]}, #{facts["workers"]} workers of #{facts["threads"]} threads, " \
            "#{facts["connections"]} connections; #{super}"
        end

        def sentence
          found = measured(pages.first)
          return "Nothing was measured." if found.size < 2
          stores = found.first(12).map { |row| spent_words(row) }
          "#{pages.first} (#{Design::PAGES[pages.first]}): #{stores.join(", ")} of CPU a request."
        end

        def fill(document)
          pages.each { |path| document.section("#{path}: #{Design::PAGES[path]}") { |one| add_page(one, path) } }
          document.section("Memory") { |section| add_memory(section) } if rows("memory").any?
        end

        private

        def pages = rows("pages").map { |row| row["path"] }.uniq

        def of(path) = rows("pages").select { |row| row["path"] == path }

        def asked?(row) = Engine::Outcome.measured?(row) && row["blocks"].any?

        def measured(path) = of(path).select { |row| asked?(row) && !row["store"].match?(AGAIN) }

        # @yieldparam facts [Array<Numeric>] seconds and both CPU times of a block
        # @yieldparam ns [Array<Integer>] durations of the block's requests
        # @yieldreturn [Float]
        # @return [Hash{Integer => Hash{Integer => Float}}] by process, then block
        def figures(row)
          row["blocks"].group_by(&:first).transform_values do |blocks|
            blocks.to_h { |block| [block[1], yield(block[2...FACTS], block.drop(FACTS))] }
          end
        end

        # @yield see {#figures}
        # @return [Float] the median of the blocks
        def median(row, &) = Statistics.median(figures(row, &).values.flat_map(&:values)).to_f

        # @yield see {#figures}
        # @return [Statistics::Interval] the median ratio of paired blocks
        def paired(row, other, &) = Engine::Paired.ratio(figures(row, &), figures(other, &))

        def spent_words(row) = "#{row["store"]} #{Report::Format.with_unit(cpu_us(row).estimate, "us")}"

        # @return [Statistics::Interval] microseconds of CPU time a request
        def cpu_us(row) = Statistics::MedianInterval.of_times(figures(row, &CPU_US).values.map(&:values))

        # @return [Statistics::Interval] microseconds, from one figure for each process
        def quantile(row, share)
          median_of_processes(row["blocks"].group_by(&:first).values.map do |blocks|
            Statistics.quantile(blocks.flat_map { |block| block.drop(FACTS) }, share) / 1e3
          end)
        end

        SPENT = ->((seconds, *), ns) { seconds / ns.size }
        RATE = ->((seconds, *), ns) { ns.size / seconds }
        CPU_US = ->((_, cpu, server), ns) { (cpu + server).fdiv(ns.size) / 1e3 }
        SERVER_US = ->((_, _, server), ns) { server.fdiv(ns.size) / 1e3 }
        COLUMNS = { "store" => "store",
                    "requests/s" => [->(row) { median(row, &RATE) }, "/s"],
                    "p50" => [->(row) { quantile(row, 0.5) }, "us"],
                    "p99" => [->(row) { quantile(row, 0.99) }, "us"],
                    "CPU a request" => [:cpu_us, "us"],
                    "of it the cache server" => [->(row) { median(row, &SERVER_US) }, "us"] }.freeze
        private_constant :SPENT, :RATE, :CPU_US, :SERVER_US, :COLUMNS

        # The noise floor: the difference between the two applications of the first store, by the more distant bound.
        def noise(path)
          again = of(path).find { |row| row["store"].match?(AGAIN) } or return
          first = of(path).find { |row| row["store"] == again["store"][AGAIN, 1] }
          return unless asked?(again) && first && asked?(first)
          Math.exp(paired(again, first, &CPU_US).map { |ratio| Math.log(ratio) }.reach) - 1.0
        end

        def add_page(section, path)
          first = of(path).first
          columns = COLUMNS.merge("CPU by the first's" => ->(row) { compared(row, first).first },
                                  "verdict" => ->(row) { compared(row, first).last })
          shown = of(path).reject { |row| row["store"].match?(AGAIN) }
          section.add(columns_table("Application: #{path}", shown, columns, labels: 1,
                                    floor: noise(path) && Report::Format.percent(noise(path)),
                                    reason: ->(row) { missing(row) unless asked?(row) }))
          section.add(article(path)) if article(path)
        end

        # Our figure (the file store by the memcached store) beside the third article's, if both stores were measured.
        def article(path)
          file, memcached = %w[file_store mem_cache_store].map { |store| measured(path).find { _1["store"] == store } }
          return unless file && memcached
          here = figure(paired(file, memcached, &SPENT), "x")
          Report::Table.new("Application: #{path}, the article's figure beside ours",
                            header: ["time of a request", "article", "here"],
                            rows: [["file_store by mem_cache_store", figure(Published.of("app"), "x"), here]],
                            note: "Published in 2011 for an application with its files on NFS, measured by `ab`.")
        end

        # @return [Array(Report::Cell, Report::Cell)] the ratio to the first store, and its verdict
        def compared(row, first)
          return ["first", ""] if row.equal?(first)
          return ["", ""] unless asked?(first)
          ratio = paired(row, first, &CPU_US)
          word = protocol.verdict(ratio, margin: protocol.margin_for([:loopback], floor: noise(row["path"])),
                                         floor: noise(row["path"]))
          [figure(ratio, "x", muted: word == :cannot_tell), Report::Cell.verdict(word)]
        end

        def add_memory(section)
          kind = notes("memory")["kind"]
          columns = { "store" => ->(held) { held.first["store"] },
                      "#{kind} of master and workers" => [->(held) { megabytes(held, "bytes") }, "MB"],
                      "#{kind} of the cache server" => [->(held) { megabytes(held, "server_bytes") }, "MB"] }
          held = rows("memory").group_by { |row| row["store"] }.reject { |store,| store.match?(AGAIN) }.values
          section.add(columns_table("Application: memory", held, columns))
        end

        def megabytes(held, name)
          bytes = held.filter_map { |row| row[name] }
          Statistics.median(bytes) / 1e6 if bytes.any?
        end
      end
    end
  end
end
