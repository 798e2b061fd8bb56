# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The cost of a store until the first read of a process.
    module Boot
      # The stores to boot, and the number of processes.
      #
      # @!attribute [r] stores
      #   @return [Array<String>] names in {STORES}
      # @!attribute [r] rounds
      #   @return [Integer] fresh processes of each store
      Design = Data.define(:stores, :rounds)

      class Design
        STORES = App::Design::STORES.slice("memory_store", "file_store", "mem_cache_store", "redis_cache_store",
                                           "tiercel:shared:", "tiercel:memory:", "tiercel:file:", "tiercel:sqlite:",
                                           "tiercel:memcached:", "tiercel:redis:").freeze
        # The baseline: the usual Rails store for several processes.
        BASELINE = "redis_cache_store"

        FULL = new(stores: STORES.keys, rounds: 20)
        QUICK = new(stores: %w[memory_store mem_cache_store redis_cache_store tiercel:shared: tiercel:memory:
                               tiercel:redis:],
                    rounds: 8)

        # Seconds to start a process: Ruby, its bundle and Active Support.
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

        # @param store [App::Design::Store]
        def boot(store)
          arguments = ruby(store.filled(places(store)))
          out, status = Open3.capture2e(Engine::Bundle.new(nil).environment, *command(arguments))
          raise CannotRun, out.lines.first.to_s.strip unless status.success?
          seconds, bytes, files = out.lines.last.split
          { cpu_ms: (Float(seconds) * 1e3).round(3), bytes: Integer(bytes), files: Integer(files) }
        end

        def places(store)
          server = @pool.facts([*store.server]).values.first.to_h
          raise CannotRun, server["error"] if server["error"]
          disk = @scratch.folders.fetch("disk")
          { disk:, memory: @scratch.folders.fetch("tmpfs", disk), url: server["url"], address: server["address"] }
        end

        # @param text [String] "file_store /tmp/files {...}"
        # @return [String] the arguments of ActiveSupport::Cache.lookup_store
        def ruby(text)
          name, *words = text.scan(/\{.*\}|\S+/)
          words.map! { |word| word.start_with?("{") ? JSON.parse(word, symbolize_names: true) : word }
          [name.to_sym, *words].map(&:inspect).join(", ")
        end

        def command(arguments)
          [*@pinning.worker_prefix, RbConfig.ruby, *("--yjit" if defined?(RubyVM::YJIT)), "-W0", PROCESS, arguments]
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
