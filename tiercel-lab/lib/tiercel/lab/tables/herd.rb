# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # A stampede: many callers fetch one missing or expired key at the same moment.
    module Herd
      Tiercel::Lab.declare self, "tables/herd/member" => %i[Member], "tables/herd/page" => %i[PageDesign PageTrial]

      # The measured stores, the number of concurrent callers, and the duration of the block.
      #
      # @!attribute [r] stores
      #   @return [Array<String>] texts of contestants
      # @!attribute [r] threads
      #   @return [Integer] number of threads in each process
      # @!attribute [r] processes
      #   @return [Integer]
      # @!attribute [r] block_ms
      #   @return [Float] duration of the block
      # @!attribute [r] rounds
      #   @return [Integer] number of rounds, each with fresh keys
      Design = Data.define(:stores, :threads, :processes, :block_ms, :rounds)

      class Design
        # The state of the key before the calls, and the options of the calls.
        #
        # @!attribute [r] name
        #   @return [String]
        # @!attribute [r] words
        #   @return [String] the condition, for use in a sentence
        # @!attribute [r] options
        #   @return [Hash{Symbol => Object}] options of the fetch
        # @!attribute [r] expired
        #   @return [Boolean] whether the key has an expired value; otherwise it is cold
        Condition = Data.define(:name, :words, :options, :expired)

        # Seconds for which an expired value may be returned.
        WINDOW_SECONDS = 60
        WITHOUT = "without a lease"
        RAILS = [
          Condition.new("cold", WITHOUT, {}, false),
          Condition.new("expired, race_condition_ttl", "with `race_condition_ttl` over an expired value",
                        { race_condition_ttl: WINDOW_SECONDS }, true)
        ].freeze
        OURS = [
          Condition.new("cold, lease: false", WITHOUT, { lease: false }, false),
          Condition.new("cold, lease: true", "with `lease: true`", { lease: true }, false),
          Condition.new("expired, stale_while_revalidate", "with `stale_while_revalidate` over an expired value",
                        { lease: true, stale_while_revalidate: WINDOW_SECONDS }, true)
        ].freeze

        FULL = new(stores: %w[memory_store file_store:tmpfs mem_cache_store redis_cache_store tiercel:shared:
                              tiercel:memory: tiercel:sqlite: tiercel:file: tiercel:memcached: tiercel:redis:],
                   threads: 10, processes: 4, block_ms: 200.0, rounds: 5)
        QUICK = FULL.with(stores: %w[memory_store mem_cache_store redis_cache_store tiercel:shared:
                                     tiercel:memcached: tiercel:redis:],
                          threads: 5, processes: 2, block_ms: 100.0, rounds: 2)

        # Seconds from the command to the moment of the calls. An expired value is written before.
        LEAD_SECONDS = 0.25
        # The TTL of a value that expires before the calls.
        ENDS_SECONDS = 0.1
        PROCESS_SECONDS = 0.4

        # @param contestant [Contestant]
        # @return [Array<Condition>]
        def self.conditions(contestant) = contestant.is_a?(Contestants::TiercelStore) ? OURS : RAILS

        # @return [Array<Contestant>]
        def contestants = stores.map { |text| Contestants.parse(text) }

        # @return [Integer]
        def callers = threads * processes

        # @param contestant [Contestant]
        # @return [Float] an estimate that includes a rehearsal of each condition
        def seconds(contestant)
          herds = self.class.conditions(contestant).size
          (processes * PROCESS_SECONDS) + (herds * LEAD_SECONDS) +
            (herds * rounds * (LEAD_SECONDS + (block_ms / 1e3) + 0.05))
        end

        # @return [Float] an estimate
        def expected_seconds = contestants.sum { |contestant| seconds(contestant) }
      end

      # All rounds of one store under one condition, as they were recorded.
      #
      # @!attribute [r] store
      #   @return [String]
      # @!attribute [r] condition
      #   @return [String] name of a {Design::Condition}
      # @!attribute [r] rows
      #   @return [Array<Hash{String => Object}>]
      Crowd = Data.define(:store, :condition, :rows)

      class Crowd
        # @return [Hash, nil] the row that says why there are no figures
        def failed = rows.find { |row| !Engine::Outcome.measured?(row) }

        # @return [Boolean] whether each process has a store of its own
        def own? = rows.first["own"] ? true : false

        # @return [String] the condition in a sentence
        def words
          [*Design::RAILS, *Design::OURS].find { |one| one.name == condition }&.words || "(#{condition})"
        end

        # @return [Array<Numeric>] the figure of each round
        def figures(name) = rows.map { |row| row[name] }

        # @return [Array<Integer>] blocks that ran, of each round
        def runs = figures("blocks_ms").map(&:size)

        # @return [Array<Integer>] blocks that ran at the same time, of each round
        def peaks = figures("blocks_ms").map { |blocks| blocks.map { |start, _| running(blocks, start) }.max.to_i }

        # @return [Array<Float>] ms, of each round
        def medians = figures("callers_ms").map { |times| Statistics.median(times) }

        # @return [Array<Float>] ms, of each round
        def slowest = figures("callers_ms").map(&:max)

        private

        def running(blocks, at) = blocks.count { |start, stop| start <= at && at < stop }
      end

      # Measures a {Design}. Each store has fresh processes, whose threads all fetch one key at the same moment, under
      # each condition. Every round has a new key.
      class Trial < Load::Trial
        # The size of stores that need one.
        CAPACITY_BYTES = 16 * 1024 * 1024
        # A rehearsal runs each condition once, with a block of this duration.
        REHEARSAL_MS = 1.0

        private

        def measure
          @design.contestants.each_with_index do |contestant, index|
            herds(contestant, label(index))
            @progress.advance(@design.seconds(contestant), contestant.name)
          end
        end

        # A store that cannot run keeps a row for each condition, with the reason.
        def herds(contestant, label)
          outcome = Engine::Outcome.of do
            with_fleet(@design.processes, path: "tables/herd/member", bundle: contestant.bundle) do |members|
              open(contestant, members, label)
              rounds(contestant, members)
            end
          end
          return if measured?(outcome)
          Design.conditions(contestant).each { |condition| rows << facts(contestant, condition, 0).merge(outcome) }
        ensure
          remove_folders(label)
        end

        def facts(contestant, condition, round)
          { "store" => contestant.name, "condition" => condition.name, "round" => round }
        end

        def open(contestant, members, label)
          members.open(text: contestant.text, label:, threads: @design.threads) do |index|
            { index:, context: context(contestant, label, shared: index.positive?, capacity_bytes: CAPACITY_BYTES) }
          end
        end

        def rounds(contestant, members)
          own = own?(members)
          conditions = Design.conditions(contestant)
          conditions.each { |condition| herd(members, condition, "rehearsal", REHEARSAL_MS) }
          @design.rounds.times do |round|
            conditions.shuffle(random: Random.new(@seed + round)).each do |condition|
              found = Engine::Outcome.of { checked(contestant, members, condition, round) }
              rows << facts(contestant, condition, round).merge("own" => own, **found)
            end
          end
          {}
        end

        # Returns whether each process has a store of its own, and so does not see the writes of another process.
        def own?(members)
          members.first(1).call("write", key: Member::PROBE)
          members.drop(1).call("read", key: Member::PROBE).any? { |found| found["maker"].nil? }
        end

        # Lets all callers fetch one key.
        #
        # @return [Array<Hash>] see {Member#fetch}, of each process
        def herd(members, condition, round, block_ms)
          key = "#{condition.name}-#{round}"
          options = condition.options
          members.call("write", key:, expires_in: Design::ENDS_SECONDS, options:) if condition.expired
          members.call("fetch", key:, at: Load::Fleet.soon(Design::LEAD_SECONDS), block_ms:, options:)
        end

        # @return [Hash{Symbol => Object}] figures of a row
        def checked(contestant, members, condition, round)
          answers = herd(members, condition, round, @design.block_ms)
          calls, blocks = %w[calls blocks].map { |part| answers.flat_map { |answer| answer[part] } }
          makers = blocks.map(&:first)
          check(calls.map(&:last), condition.expired ? [*makers, Member::OLD] : makers)
          stored(members, "#{condition.name}-#{round}", makers) if contestant.keeps?
          { callers_ms: calls.map { |call| call[1] }, late_ms: calls.map(&:first).max,
            stale: calls.count { |call| call.last == Member::OLD }, blocks_ms: blocks.map { |block| block.drop(1) } }
        end

        # Checks that all processes now read a value that some block computed.
        def stored(members, key, makers)
          found = members.call("read", key:).map { |answer| answer["maker"] }
          raise Missed, "nothing was stored by a block that ran" if found.any?(&:nil?)
          check(found, makers)
        end

        def check(given, makers)
          strange = given - makers
          raise WrongValue, "a caller was given what no block made: #{strange.first}" if strange.any?
        end
      end

      class Table < Tables::Table
        called "herd", "Stampedes: how often the block of one missing key runs."
        example "herd --quick", "herd --threads 25 --processes 8 --block-ms 1000",
                "herd --store redis_cache_store --store tiercel:redis:", "herd --page --quick"
        takes :quick, :seed, :require

        # A process that does not answer for minutes counts as lost.
        MOST_MS = 60_000

        def options(parser)
          store_option(parser, default: "Rails' and Tiercel's")
          fact parser, "--threads N", "of each process (10; quick 5)", :threads, :count
          fact parser, "--processes N", "(4; quick 2)", :processes, :count
          fact parser, "--block-ms MS", "duration of the block (200; quick 100)", :block_ms, :number
          fact parser, "--rounds N", "with a fresh key each (5; quick 2)", :rounds, :count
          parser.on("--page", "a page of #{PageDesign::FRAGMENTS} missing fragments under Puma, in place of one key") do
            @page = true
          end
        end

        def plan_in_words
          return design.words if @page
          "#{design.processes} processes x #{design.threads} threads fetch one key at once, whose block takes " \
            "#{Report::Format.number(design.block_ms)} ms, from #{design.stores.join(", ")}; #{design.rounds} rounds."
        end

        def take(_comparisons)
          run.table(*(@page ? ["page", tried(PageTrial).rows] : ["herd", tried(Trial).rows]), **design.to_h)
        end

        # @return [Design, PageDesign]
        def design = @design ||= designed(@page ? PageDesign : Design, stores: @stores&.map(&:text))

        def accept(rest)
          super
          design.check if @page
          return if design.block_ms <= MOST_MS
          raise UsageError, "--block-ms #{design.block_ms.round}: expected at most #{MOST_MS}"
        end
      end

      # Shows how often the block ran, how many at once, and how long callers waited.
      class View < Tables::View
        quick "Quick: fewer stores, callers and rounds."

        COLUMNS = { "store" => :store, "key" => :condition, "blocks run" => ->(crowd) { counted(crowd.runs) },
                    "at once" => ->(crowd) { counted(crowd.peaks) },
                    "median caller" => [->(crowd) { spread(crowd.medians) }, "ms"],
                    "slowest caller" => [->(crowd) { spread(crowd.slowest) }, "ms"],
                    "stale answers" => ->(crowd) { counted(crowd.figures("stale")) } }.freeze
        PAGE_COLUMNS = { "store" => "store", "renderings" => ->(row) { counted(row["renderings"]) },
                         "median" => [->(row) { quantile(row, 0.5) }, "ms"],
                         "p99" => [->(row) { quantile(row, 0.99) }, "ms"],
                         "slowest" => [->(row) { row["ms"].flatten.max }, "ms"] }.freeze

        def title = "Everybody asks at once"

        def subtitle
          return "#{page_words}; #{several(notes("page")["rounds"], "round")}" if page?
          facts = notes("herd")
          return "Interrupted before anything was measured" if facts.empty?
          "#{crowd_words} fetch one key at the same moment; the block takes #{number(facts["block_ms"])} ms; " \
            "#{several(facts["rounds"], "round")}"
        end

        # The kernel places the processes, see {Trial}.
        def environment = super.merge("Pinning" => "not pinned")

        # Late callers find an answer, so fewer blocks run.
        def warnings
          late = measured.flat_map { |crowd| crowd.figures("late_ms") }.max.to_f
          return super unless measured.any? && late > notes("herd")["block_ms"].to_f / 2
          [*super, "The machine was busy: a caller came #{number(late)} ms late."]
        end

        def sentence
          return page_sentence if page?
          return "Nothing could be measured." if measured.empty?
          by_words = measured.group_by(&:words)
          order = [*Design::RAILS, *Design::OURS].map(&:words) & by_words.keys
          parts = order.map { |words| counts(words, by_words[words]) }
          "#{crowd_words}, all at once, ran the block #{parts.join("; ")}."
        end

        def fill(document)
          document.section("A page") { |section| section.add(page_table) } if page?
          return if crowds.empty?
          document.section("Blocks and callers") do |section|
            section.text(explanation).add(table)
          end
        end

        private

        def page? = rows("page").any?

        def page_words
          facts = notes("page")
          "#{facts["requests"]} requests at once for a page of #{PageDesign::FRAGMENTS} missing fragments, each of " \
            "which takes #{number(facts["block_ms"])} ms of CPU; Puma with #{facts["processes"]} workers x " \
            "#{facts["threads"]} threads"
        end

        def page_sentence
          found = rows("page").select { |row| Engine::Outcome.measured?(row) }
          return "Nothing could be measured." if found.empty?
          words = found.map do |row|
            "#{row["store"]} #{counted(row["renderings"])} times (p99 #{number(quantile(row, 0.99).round)} ms)"
          end
          "The #{PageDesign::FRAGMENTS} fragments of a page were rendered: #{words.join(", ")}."
        end

        # The quantile over the requests of all rounds.
        def quantile(row, share) = Statistics.quantile(row["ms"].flatten, share)

        def page_table
          columns_table("Herd: a page of missing fragments", rows("page"), PAGE_COLUMNS, labels: 1,
                        note: "#{page_words}. Renderings of all processes, in each round.")
        end

        def crowds
          @crowds ||= rows("herd").group_by { |row| row.values_at("store", "condition") }
                                  .map { |(store, condition), group| Crowd.new(store:, condition:, rows: group) }
                                  .sort_by.with_index { |crowd, index| [order(crowd), index] }
        end

        # Sorts by the order in which the user named the stores, then by condition.
        def order(crowd)
          [rows("herd").index { |row| row["store"] == crowd.store }, conditions.index(crowd.condition) || 0]
        end

        def conditions = [*Design::RAILS, *Design::OURS].map(&:name)

        def measured = crowds.reject(&:failed)

        def callers = notes("herd").values_at("processes", "threads").reduce(:*)

        def crowd_words
          processes, threads = notes("herd").values_at("processes", "threads")
          "#{number(callers)} callers (#{several(processes, "process", "processes")} x #{several(threads, "thread")})"
        end

        def number(figure) = Report::Format.number(figure)

        # How often the block ran, over all rounds and the stores that processes share.
        def counts(words, group)
          shared = group.reject(&:own?)
          "#{times(shared.empty? ? group : shared)} #{words}"
        end

        def times(group)
          least, most = group.flat_map(&:runs).minmax
          return least == 1 ? "once" : "#{number(least)} times" if least == most
          "#{number(least)} to #{number(most)} times"
        end

        def explanation
          "*Blocks run*: blocks that ran for #{number(callers)} callers. *At once*: blocks that ran concurrently, " \
            "which is the load on the origin. *Median* and *slowest caller*: the duration of a fetch, with the " \
            "least and the most of the rounds in brackets. A *cold* key was never written. The value of an " \
            "*expired* key expired up to #{Design::LEAD_SECONDS} s before; a store may return it (*stale answers*) " \
            "for #{Design::WINDOW_SECONDS} s."
        end

        def table
          columns_table("Herd: blocks and callers", crowds, COLUMNS, labels: 2, note: own_note)
        end

        def own_note
          own = measured.select(&:own?).map(&:store).uniq
          "One in each process, so that each of them has to run the block: #{own.join(", ")}" if own.any?
        end

        # The median of the rounds, with the least and the most.
        def counted(figures)
          figures.uniq.one? ? Report::Cell.count(figures.first) : figure(spread(figures), digits: 0)
        end
      end
    end
  end
end
