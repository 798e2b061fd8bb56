# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The cost of a store until the first read of a process.
    module Boot
      # The stores to boot, and the number of processes.
      #
      # @!attribute [r] stores
      #   @return [Array<String>] keys of {STORES}
      # @!attribute [r] rounds
      #   @return [Integer] fresh processes of each store
      Design = Data.define(:stores, :rounds)

      class Design
        # A store to boot: the `config.cache_store` of an application, in which %{name} stands for a folder or a
        # server of the lab.
        #
        # @!attribute [r] servers
        #   @return [Array<Symbol>]
        # @!attribute [r] configuration
        #   @return [String] Ruby: the arguments of ActiveSupport::Cache.lookup_store
        Boot = Data.define(:servers, :configuration)

        STORES = {
          "memory_store" => Boot.new([], ":memory_store"),
          "file_store" => Boot.new([], ":file_store, '%{tmpfs}/files'"),
          "mem_cache_store" => Boot.new([:memcached], ":mem_cache_store, '%{memcached}'"),
          "redis_cache_store" => Boot.new([:redis], ":redis_cache_store, url: '%{redis}'"),
          "tiercel:shared:" => Boot.new([], ":tiercel_store, 'shared:%{tmpfs}/segment', { size: '64MB' }"),
          "tiercel:memory:" => Boot.new([], ":tiercel_store, 'memory:'"),
          "tiercel:file:" => Boot.new([], ":tiercel_store, 'file:%{tmpfs}/records'"),
          "tiercel:sqlite:" => Boot.new([], ":tiercel_store, 'sqlite:%{disk}/cache.sqlite3'"),
          "tiercel:memcached:" => Boot.new([:memcached], ":tiercel_store, 'memcached://%{memcached}'"),
          "tiercel:redis:" => Boot.new([:redis], ":tiercel_store, '%{redis}'")
        }.freeze
        # The baseline: the usual Rails store for several processes.
        BASELINE = "redis_cache_store"

        FULL = new(stores: STORES.keys, rounds: 20)
        QUICK = new(stores: %w[memory_store mem_cache_store redis_cache_store tiercel:shared: tiercel:memory:
                               tiercel:redis:],
                    rounds: 8)

        # Starting a process: Ruby, its bundle and Active Support.
        PROCESS_SECONDS = 0.7

        # @return [Float] an estimate
        def expected_seconds = stores.size * rounds * PROCESS_SECONDS
      end

      # Boots each store of a {Design} in fresh processes. Each round boots all stores, in another order. Rows have
      # "store", "round", "cpu_ms", "bytes" and "files".
      class Trial < Engine::Trial
        PROCESS = File.expand_path("boot/process.rb", __dir__)

        private

        def measure
          @design.rounds.times do |round|
            in_turn(@design.stores, round).each do |store|
              outcome = Engine::Outcome.of { boot(Design::STORES.fetch(store)) }
              rows << { "store" => store, "round" => round, **outcome }
              @progress.advance(Design::PROCESS_SECONDS, store)
            end
          end
        end

        def boot(store)
          places = places(store)
          configuration = store.configuration.gsub(/%\{(\w+)\}/) { places.fetch(Regexp.last_match(1)) }
          out, status = Open3.capture2e(Engine::Bundle.new(nil).environment, *command(configuration))
          raise CannotRun, out.lines.first.to_s.strip unless status.success?
          seconds, bytes, files = out.lines.last.split
          { cpu_ms: (Float(seconds) * 1e3).round(3), bytes: Integer(bytes), files: Integer(files) }
        end

        def places(store)
          servers = @pool.facts(store.servers)
          failed = servers.values.find { |facts| facts["error"] } and raise CannotRun, failed["error"]
          { "tmpfs" => @scratch.folders["disk"], **@scratch.folders,
            "memcached" => servers.dig("memcached", "address"), "redis" => servers.dig("redis", "url") }
        end

        def command(configuration)
          [*@pinning.worker_prefix, RbConfig.ruby, *("--yjit" if defined?(RubyVM::YJIT)), "-W0", PROCESS,
           configuration]
        end
      end

      class Table < Tables::Table
        called "boot", "CPU time, memory and files of a store until its first read."
        example "boot --quick", "boot --store redis_cache_store,tiercel:shared: --rounds 40"
        takes :quick, :seed
        in_all 25

        def options(parser)
          names parser, "--store", Design::STORES, :stores
          fact parser, "--rounds N", "fresh processes of each store (20; quick 8)", :rounds, :count
        end

        def plan_in_words
          "#{design.stores.join(", ")}: each boots in #{design.rounds} fresh processes, in turn."
        end

        def take(_comparisons) = run.table("boot", tried(Trial).rows, **design.to_h)

        # @return [Design]
        def design = @design ||= designed(Design)
      end

      # Shows CPU time, memory and files of each store, with ratios to the baseline.
      class View < Tables::View
        quick "Quick: fewer stores and processes."

        # All processes that booted one store.
        Boots = Struct.new(:store, :rows) do
          def measured = rows.select { |row| Engine::Outcome.measured?(row) }
          def failed = measured.empty? ? rows.first : nil
          def files = Report::Cell.count(measured.map { |row| row["files"] }.max)
        end
        COLUMNS = { "store" => :store, "CPU time" => [->(boots) { median(boots, "cpu_ms") }, "ms"],
                    "by #{Design::BASELINE}'s" => [->(boots) { ratio(boots, "cpu_ms") }, "x"],
                    "memory" => [->(boots) { median(boots, "bytes", MEGABYTE) }, "MB"],
                    "by #{Design::BASELINE}'s " => [->(boots) { ratio(boots, "bytes") }, "x"],
                    "files" => :files }.freeze
        MEGABYTE = 1024.0 * 1024
        WORDS = "From `lookup_store` to the first read, in a fresh process that has loaded `active_support/cache`. " \
                "Memory: growth of its resident set. Files: those that it required for the store."

        def title = "What a store costs at boot"

        def sentence
          ours, baseline = %w[tiercel:shared: redis_cache_store].map { |store| measured.find { _1.store == store } }
          return "Nothing could be measured." if measured.empty?
          return "The first read of a process takes #{spent(measured.first)} of CPU time." unless ours && baseline
          "The first read of a process takes #{spent(ours)} of CPU time with shared:, and #{spent(baseline)} with " \
            "#{Design::BASELINE}."
        end

        def fill(document)
          return if boots.empty?
          document.section("Boot") do |section|
            section.text(WORDS).add(columns_table("Boot: until the first read", boots, COLUMNS, labels: 1))
          end
        end

        private

        def boots
          @boots ||= rows("boot").group_by { |row| row["store"] }.map { |store, group| Boots.new(store, group) }
                                 .sort_by { |one| Design::STORES.keys.index(one.store) }
        end

        def measured = boots.reject(&:failed)

        def spent(boots) = Report::Format.with_unit(median(boots, "cpu_ms").estimate, "ms")

        def median(boots, figure, unit = 1.0) = median_of_processes(boots.measured.map { |row| row[figure] / unit })

        # A round in which the memory did not grow has no ratio.
        def ratio(boots, figure)
          return "baseline" if boots.store == Design::BASELINE
          baseline = measured.find { |one| one.store == Design::BASELINE } or return
          Engine::Paired.ratio(by_round(boots, figure), by_round(baseline, figure))
        end

        def by_round(boots, figure)
          boots.measured.select { |row| row[figure].positive? }
               .to_h { |row| [row["round"], { 0 => row[figure].to_f }] }
        end
      end
    end
  end
end
