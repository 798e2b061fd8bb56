# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # Finds out whether a change makes anything slower, for continuous integration.
    module Gate
      Tiercel::Lab.declare self, "tables/gate/counter" => %i[Counter]

      # A cell of a gate: a benchmark of the user, or an operation of a store on a value.
      GatedCell = Data.define(:label, :text, :operation, :value) do
        # @param name [String]
        # @param clock [String] "cpu" or "wall"
        # @param servers [Array<String>]
        def self.benchmark(name, clock:, servers:)
          facts = URI.encode_www_form(clock:, servers: servers.join(","))
          new(label: name, text: "benchmark:#{URI.encode_www_form_component(name)}?#{facts}",
              operation: Operations.fetch("benchmark"), value: Values.fetch("benchmark"))
        end

        # @raise [UsageError] if one of them is not known
        def self.store(store, operation, value)
          new(label: [operation, value, store].join(" "), text: Contestants.parse(store).text,
              operation: Operations.fetch(operation), value: Values.fetch(value))
        end
      end

      # A step of a gate. All steps have the same cells and sides.
      class Step
        # @param cells [Array<GatedCell>]
        # @param trees [Array<Tree>] base and head
        # @param run [Engine::Run]
        # @param configuration [Configuration]
        # @param settings [CLI::Settings]
        def initialize(cells, trees, run:, configuration:, settings:)
          @cells = cells
          @trees = trees
          @run = run
          @configuration = configuration
          @settings = settings
        end

        private

        # @return [Hash] arguments for {Engine::Trial#initialize}
        def inputs = { seed: @settings.seed, requires: @settings.requires }
      end

      # Counts the exact figures of every cell on both sides. A fresh process of the side counts objects, queries and
      # bytes; a relay in front of its server counts round trips and bytes on the wire.
      class Counting < Engine::Trial
        # Number of fresh processes for each side. A figure is exact if all of them agree.
        PROCESSES = 2
        START_SECONDS = 1.5
        CELL_SECONDS = 0.3
        PASSES = 3

        # Rows have "cell", "side", "process" and figures.
        #
        # @param trees [Array<Tree>] base and head
        # @param cells [Array<GatedCell>]
        # @param first [Integer] number of the first process
        # @param calls [Hash{String => Integer}] calls of a pass by cell; all processes make as many as the first
        def initialize(trees, cells:, first: 0, calls: {}, **)
          super(**)
          @trees = trees
          @cells = cells
          @first = first
          @calls = calls
        end

        def expected_seconds = @trees.size * PROCESSES * (START_SECONDS + (@cells.size * CELL_SECONDS))

        private

        def measure
          @relays = {}
          PROCESSES.times do |process|
            in_turn(@trees, process).each { |tree| count_all(tree, @first + process) }
          end
        ensure
          @relays&.each_value { |relay, _facts| relay.stop }
        end

        def count_all(tree, process)
          @cells.group_by { |cell| tree.contestant(cell).bundle }.each do |bundle, cells|
            count_with(bundle, tree, cells, process)
          end
        end

        def count_with(bundle, tree, cells, process)
          job = job("tables/gate/counter", bundle:)
          cells.each do |cell|
            found = count(job, cell, tree.contestant(cell))
            @rows << { "cell" => cell.label, "side" => tree.name, "process" => process, **found }
            @progress.advance(CELL_SECONDS, "#{tree.name}: #{cell.label}")
          end
          @progress.advance(START_SECONDS, tree.name)
        rescue WorkerLost, CannotRun => e
          lost(tree, cells, process, e)
        ensure
          job&.stop
        end

        # Records the cells that a process died before reporting.
        def lost(tree, cells, process, error)
          said = rows.filter_map { |row| row["cell"] if row.values_at("side", "process") == [tree.name, process] }
          failure = Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, error.message)
          (cells.map(&:label) - said).each do |label|
            @rows << { "cell" => label, "side" => tree.name, "process" => process, **failure }
          end
        end

        def count(job, cell, contestant)
          servers = facts(contestant.servers)
          opened = job.call("open", text: contestant.text, operation: cell.operation.name, value: cell.value.to_spec,
                                    seed: @seed, calls: @calls[cell.label],
                                    context: { servers:, folders: @scratch.folders, label: "gate" })
          return opened unless Engine::Outcome.measured?(opened)
          @calls[cell.label] ||= opened["calls"]
          relays = @relays.slice(*servers.keys).values.map(&:first)
          figures = job.call("count").merge(passing(job, relays, opened["calls"]))
          closed = job.call("close")
          Engine::Outcome.measured?(closed) ? figures : closed
        end

        # A cluster announces the addresses of its servers, so no relay can stand in front of them.
        def facts(names)
          @pool.facts(names).to_h do |name, facts|
            next [name, facts] unless Configuration::SERVERS.include?(name) && facts["url"].to_s[Network::Proxy::PLACE]
            [name, facts.merge((@relays[name] ||= Network::Proxy.before(facts)).last)]
          end
        end

        # Takes the least of several passes, because background traffic of a connection is not in all of them.
        def passing(job, relays, calls)
          return {} if relays.empty?
          passes = Array.new(PASSES) do
            job.call("ready")
            before = relays.map(&:traffic)
            job.call("run")
            relays.map(&:traffic).flatten.zip(before.flatten).map { |after, earlier| after - earlier }
                  .each_slice(2).to_a.transpose.map(&:sum)
          end
          trips, bytes = passes.transpose.map { |figures| figures.min.fdiv(calls).round(2) }
          { "round_trips" => trips, "wire_bytes" => bytes }
        end
      end

      # The exact figures of all cells. Cells whose figures changed are counted again in fresh processes.
      class Exact < Step
        # @return [Array<Hash{String => Object}>] a row for each metric, or one row with the reason
        def rows
          @rows ||= begin
            count(@cells)
            suspects = @cells.select { |cell| changed?(judged(cell)) }
            count(suspects) if suspects.any? && !@run.interrupted?
            @run.table("counted", counted)
            @cells.flat_map { |cell| judged(cell) }
          end
        end

        # @return [Array<GatedCell>] the cells with figures of both sides
        def sound
          broken = rows.filter_map { |row| row["cell"] if row["metric"] == "values" }
          @cells.reject { |cell| broken.include?(cell.label) }
        end

        # Time to open one cell on one side, from the counting itself.
        #
        # @return [Float]
        def open_seconds = counted.empty? ? Counting::CELL_SECONDS : @seconds / counted.size

        private

        def count(cells)
          started = Engine::Stopwatch.seconds
          first = counted.map { |row| row["process"] + 1 }.max.to_i
          counting = Counting.new(@trees, cells:, first:, calls: (@calls ||= {}), **inputs)
          @run.try(counting, counting.expected_seconds)
          counted.concat(counting.rows)
          @seconds = @seconds.to_f + Engine::Stopwatch.seconds - started
        end

        def changed?(rows) = rows.any? { |row| [Judgement::REGRESSED, Judgement::IMPROVED].include?(row["verdict"]) }

        def judged(cell)
          sides = @trees.map { |tree| counted_of(cell, tree) }
          return [] if sides.any?(&:empty?) # interrupted
          status = Judgement.status(*sides.map { |rows| worst(rows) })
          return [status.merge("cell" => cell.label)] if status
          Configuration::EXACT.keys.filter_map do |metric|
            base, head = sides.map { |rows| rows.filter_map { |row| row[metric] } }
            next if base.empty? || head.empty?
            Judgement.exact(metric, base, head, margin: @configuration.margins[metric]).merge("cell" => cell.label)
          end
        end

        def counted = @counted ||= []

        def counted_of(cell, tree)
          counted.select { |row| row.values_at("cell", "side") == [cell.label, tree.name] }
        end

        def worst(rows) = rows.find { |row| !Engine::Outcome.measured?(row) } || rows.first
      end

      # Times both sides, interleaved. Cells that seem slower are timed again in fresh processes: only a repeated
      # result proves a regression.
      class Timing < Step
        # A gate needs fewer blocks than a table, because it only asks whether a cell is slower.
        PROTOCOL = Engine::Protocol::FULL.with(blocks: 12, slice_ns: 10_000_000)

        # The share of the time left for a pass; what is left then confirms its slower cells.
        SHARE = 0.7
        # A pass with fewer processes decides nothing.
        LEAST_PROCESSES = 4
        # A pass with fewer cells mostly starts processes.
        LEAST_CELLS = 4
        # One in this many cells of a medium has a null arm. A noise floor pools the null arms of its medium.
        CELLS_OF_A_NULL = 4
        # The usual arms of a cell.
        ARMS = 2.0 + (1.0 / CELLS_OF_A_NULL)
        NO_TIME = "there was no time within the gate's budget"

        # @param until_at [Float] monotonic seconds at which the gate's budget ends
        # @param open_seconds [Float] time to open an arm, as the counting of exact figures took here
        def within(until_at, open_seconds)
          @until_at = until_at
          @open_seconds = open_seconds
          self
        end

        # The number of cells that a pass can measure, after it has started its workers.
        #
        # @param seconds [Float] time left
        # @param arms [Float] arms of a cell
        # @param workers [Integer] workers of a process
        # @return [Integer]
        def self.room(seconds, arms, open_seconds, workers: 0)
          of_arm = open_seconds + (PROTOCOL.slices * PROTOCOL.slice_ns / 1e9)
          seconds -= workers * LEAST_PROCESSES * Engine::Protocol::WORKER_SECONDS
          (seconds / (arms * of_arm * LEAST_PROCESSES)).floor.clamp(0..)
        end

        # @return [Array<Engine::Measurement>]
        def measurements = @measurements ||= []

        # Times as many cells as fit into the budget. Repeats this for the other cells with the rest of the budget.
        #
        # @return [Array<Hash{String => Object}>] one row for each cell
        def rows
          untimed, found = @cells, {}
          until untimed.empty? || @run.interrupted?
            timed = fitting(untimed, left * SHARE, ARMS)
            break if timed.size < [LEAST_CELLS, untimed.size].min
            untimed -= timed
            found.merge!(confirmed(timed))
          end
          @cells.map { |cell| row(cell, *found[cell]) }
        end

        private

        def left = [@until_at - Engine::Stopwatch.seconds, 0.0].max

        # @return [Hash{GatedCell => Array}] head's records of two passes; nil for a cell that seems no slower
        def confirmed(cells)
          first = pass(cells, budget: left * SHARE)
          slower = cells.select { |cell| Judgement.slower?(ratio(first[cell]), margin(cell)) }
          slower = @settings.quick || @run.interrupted? ? [] : fitting(slower, left, 2)
          again = slower.empty? ? {} : pass(slower, null: false, budget: left)
          cells.to_h { |cell| [cell, [first[cell], again[cell]]] }
        end

        def fitting(cells, seconds, arms)
          workers = cells.map(&:value).uniq.size * arms.ceil
          cells.first(Timing.room(seconds, arms, @open_seconds, workers:))
        end

        # @return [Hash{GatedCell => Hash}] head's records
        def pass(cells, budget:, null: true)
          nulls = null ? nulls(cells) : []
          comparisons = cells.to_h { |cell| [cell, comparison(cell, null: nulls.include?(cell))] }
          protocol = protocol(comparisons.each_value.sum { |comparison| comparison.arms.size }, budget)
          measurement = @run.measure(comparisons.values, protocol:, decided: method(:decided?))
          measurements << measurement
          comparisons.transform_values do |comparison|
            measurement.cells.find { |cell| cell.comparison.equal?(comparison) && cell.arm.role == :contestant }
          end
        end

        def nulls(cells)
          media = cells.group_by { |cell| @trees.last.contestant(cell).medium }
          media.values.flat_map { |group| group.each_slice(CELLS_OF_A_NULL).map(&:first) }
        end

        # The protocol with as many processes as the budget allows.
        def protocol(arms, budget)
          base = @settings.quick ? Engine::Protocol::QUICK : PROTOCOL
          of_process = arms * (@open_seconds + (base.blocks * 2 * base.slice_ns / 1e9))
          processes = (budget / of_process).floor.clamp(LEAST_PROCESSES, base.processes) / 2 * 2
          base.with(processes:, most_processes: (base.most_processes if processes == base.processes),
                    budget_seconds: [budget, base.budget_seconds].compact.min)
        end

        # A cell is decided once it is known to be slower, or known not to be.
        def decided?(cell)
          found = ratio(cell) or return false
          margin = margin_of(cell.arm.contestant)
          Judgement.slower?(found, margin) || Judgement.within?(found, margin)
        end

        # @param null [Boolean] whether the base has a second arm, for the noise floor
        def comparison(cell, null:)
          base, head = @trees.map { |tree| tree.contestant(cell) }
          arms = [[base, cell.operation, :baseline, nil], [head, cell.operation, :contestant, nil]]
          arms << [@trees.first.contestant(cell, again: true), cell.operation, :null, 0] if null
          Engine::Comparison.rows(cell.value, arms)
        end

        def ratio(cell)
          summary = cell&.summary
          summary&.ratio&.record&.merge("mean" => summary.mean_ratio.record)
        end

        def margin(cell) = @trees.map { |tree| margin_of(tree.contestant(cell)) }.compact.max

        # A medium's own margin is the least: disks and remote servers vary more than memory.
        def margin_of(contestant)
          own = @configuration.margins[Configuration::TIME] or return
          [own, Engine::Protocol::MARGINS.fetch(contestant.medium)].max
        end

        def row(cell, first = nil, again = nil)
          row = Judgement.time([ratio(first), ratio(again)], margin: margin(cell))
          row.merge("cell" => cell.label, "id" => first&.id, "floor" => first&.summary&.floor,
                    "reason" => first ? (first.reason unless first.measured?) : NO_TIME)
        end
      end

      # Records one revision for a history: counts every cell of a tree, and times it together with the reference
      # work.
      class Recording < Step
        REFERENCE = "reference=reference_work"

        # @return [Engine::Measurement]
        def take
          counting = Counting.new(@trees, cells: @cells, **inputs)
          @run.try(counting, counting.expected_seconds)
          @run.table("counted", counting.rows)
          @run.measure(@cells.map { |cell| comparison(cell) }, protocol:)
        end

        private

        # Every night has the same number of processes.
        def protocol
          Timing::PROTOCOL.with(most_processes: nil, budget_seconds: @configuration.budget_seconds)
        end

        def comparison(cell)
          reference = Compare::Placed.contestant(REFERENCE, name: "reference work", bundle: @trees.last.bundle)
          Engine::Comparison.rows(cell.value, [[reference, Operations.fetch("benchmark"), :baseline, nil],
                                               [@trees.last.contestant(cell), cell.operation, :contestant, nil]])
        end
      end

      # Profiles every cell on both sides. The profiler's own viewer opens the files, alone or one beside the other.
      class Profiles < Step
        SECONDS = 2.0

        # Uses the profiler of the lab's bundle, even if the tree's bundle has another profiler.
        class Trial < Profile::Trial
          private

          def bundle_of(contestant)
            profiler ? contestant.bundle.with(libraries: profiler.full_require_paths) : contestant.bundle
          end
        end

        # Records the table "profiles". The files lie beside the report, or beside the kept run.
        def take
          rows = @cells.flat_map do |cell|
            pairs = @trees.map { |tree| [tree.contestant(cell), cell.operation] }
            trial = Trial.new(pairs, value: cell.value, seconds: SECONDS, stem: "#{stem}-#{Report.slug(cell.label)}",
                                     **inputs)
            @run.try(trial, trial.expected_seconds)
            trial.rows.zip(@trees).map { |row, tree| row.merge("cell" => cell.label, "side" => tree.name) }
          end
          @run.table("profiles", rows.map { |row| row.except("top") }, seconds: SECONDS)
        end

        private

        def stem
          report = @settings.report_files.first || @run.recorder.path
          File.expand_path(report.sub(/\.\w+\z/, ""))
        end
      end

      # Lists the benchmarks that the files of a tree declare. A process of the tree loads the files, because they may
      # load an application.
      class Listing < Engine::Trial
        SECONDS = 2.0

        # @param tree [Tree]
        def initialize(tree, **)
          super(**)
          @tree = tree
        end

        private

        # @raise [CannotRun] if a file cannot be loaded
        def measure
          job = job("tables/gate/counter", bundle: @tree.bundle)
          found = job.call("list", files: @tree.files)
          raise CannotRun, "#{@tree.files.join(", ")}: #{found["reason"]}" unless Engine::Outcome.measured?(found)
          @rows = found["benchmarks"]
        ensure
          job&.stop
        end
      end

      class Table < Tables::Table
        called "gate", "Fails if a change makes something slower than its base."
        example "gate --base origin/main", "gate --base HEAD^ --exact", "gate --plan",
                "gate --base origin/main --html gate.html --comment comment.md",
                "gate --base v1.2.0 --head v1.3.0 --accept 'parse a page'"
        takes :quick, :seed, :cells

        BASE = "HEAD^"
        SUMMARY = "GITHUB_STEP_SUMMARY"
        # A workflow finds its earlier comment by this marker.
        MARKER = "<!-- tiercel-lab gate -->"

        def options(parser)
          parser.on("--base REF", "revision to compare with (#{BASE})") { |name| @base = name }
          parser.on("--head REF", "revision of the change (\".\": the working copy)") { |name| @head = name }
          parser.on("--file FILE", "settings (#{Configuration::FILE}; `init gate` writes one)") do |file|
            @file = file
          end
          parser.on("--exact", "only exact figures, no timings") { @exact = true }
          parser.on("--same", "base and head may be the same") { @same = true }
          parser.on("--record", "no gate: measure the head for `history`") { @record = true }
          parser.on("--profile", "no gate: profiles of every cell on both sides") { @profile = true }
          parser.on("--accept CELL", "this cell may regress; repeatable") { |cell| (@accept ||= []) << cell }
          parser.on("--comment FILE", "Markdown for a pull request") do |file|
            @comment = file.tap { Folder.check_of("--comment #{file}", file) }
          end
          parser.on("--repository DIR", "any folder of the checkout (.)") { |folder| @repository = folder }
        end

        def plan_in_words
          files = configuration.benchmarks.flat_map { |glob| Dir.glob(glob, base: root) }
          ["#{configuration.cells.size} cells of stores, #{files.size} files of benchmarks, of #{base} and " \
           "#{head}; at most as long as the `budget` of #{File.basename(file)}",
           *configuration.cells.map { |cell| GatedCell.store(*cell).label },
           *files].join("\n")
        end

        def expected_seconds = configuration.budget_seconds

        def take(_comparisons)
          # The rest is for the end of the last pass, and for the report.
          @until_at = Engine::Stopwatch.seconds + (configuration.budget_seconds * 0.95)
          run.start
          run.table("sides", trees.map(&:describe), **configuration.describe.transform_keys(&:to_sym))
          return run.table("gate", [], reason: "nothing that figures can depend on differs") if unchanged?
          trees.each { |tree| tree.prepare(run) }
          @cells = gated_cells
          raise CannotRun, "#{file}: there is nothing to measure: no cells, no benchmarks" if @cells.empty?
          return record if @record
          return profile if @profile
          rows = judge
          run.table("gate", rows)
        end

        def measure(run)
          super.tap { |results| write(self.class.view(results, command: "")) }
        end

        # Only counted rows have a status.
        def recorded_rows = recorded("counted")

        # Wrong results come before regressions, and regressions before undecided cells.
        def exit_code
          return super if recorded("sides").one? || recorded("profiles").any?
          verdicts = recorded("gate").map { |row| row["verdict"] }
          return CODES[:wrong] if verdicts.include?(Judgement::WRONG)
          return CODES[:does_not_hold] if verdicts.include?(Judgement::REGRESSED)
          return CODES[:ok] unless verdicts.include?(Judgement::CANNOT_TELL)
          strict = results["tables"].any? { |table| table["notes"]["cannot_tell"] == "fail" }
          CODES[strict ? :does_not_hold : :undecided]
        end

        private

        def base = @base || BASE
        def head = @head || Checkout::HERE

        def checkout = @checkout ||= Checkout.new(@repository || Dir.pwd)

        def root
          checkout.folder
        rescue UsageError
          @repository || Dir.pwd
        end

        def file = @file || File.join(root, Configuration::FILE)

        def configuration = @configuration ||= Configuration.read(file)

        # Both sides run the benchmarks of the head.
        def trees
          @trees ||= begin
            sha = checkout.tree(head)
            sides = [["head", head, sha]]
            unless @record
              sides.unshift(["base", base, checkout.tree(base, over: sha, globs: configuration.benchmarks)])
            end
            sides.map { |name, revision, tree| Tree.new(name, revision:, sha: tree, checkout:, configuration:) }
          end
        end

        def record
          run.table("gate", [], reason: "measured for the history, against nothing")
          @measurements << step(Recording).take
        end

        def profile
          run.table("gate", [], reason: "profiled, not measured")
          step(Profiles).take
        end

        def unchanged?
          return false if @same || @record
          one, other = trees.map { |tree| checkout.entries(tree.sha, configuration.sources.to_a) }
          one == other
        end

        def gated_cells
          stores = configuration.cells.map { |store, operation, value| GatedCell.store(store, operation, value) }
          stores + declared_benchmarks
        end

        def declared_benchmarks
          tree = trees.last
          return [] if tree.files.empty?
          listing = Listing.new(tree, seed: settings.seed)
          run.try(listing, Listing::SECONDS)
          listing.rows.map do |row|
            GatedCell.benchmark(row["name"], clock: row["clock"], servers: configuration.servers)
          end
        end

        # @return [Array<Hash{String => Object}>] a row for each metric of each cell
        def judge
          exact = step(Exact)
          rows = exact.rows
          rows += timing(exact).rows if timed?
          acceptance.apply(rows)
        end

        def timed? = !@exact && !run.interrupted? && configuration.margins[Configuration::TIME]

        def timing(exact)
          timing = step(Timing, exact.sound).within(@until_at, exact.open_seconds)
          timing.tap { @measurements = timing.measurements }
        end

        # @param type [Class<Step>]
        def step(type, cells = @cells) = type.new(cells, trees, run:, configuration:, settings:)

        def acceptance
          Acceptance.new(@accept.to_a + checkout.trailers(*trees.map(&:commit), Acceptance::TRAILER))
        end

        # Writes the files for continuous integration: a summary of the step, and a comment for the pull request.
        def write(view)
          summary = ENV.fetch(SUMMARY, "")
          return unless @comment || !summary.empty?
          text = Report::Markdown.render(view.brief)
          File.write(@comment, "#{MARKER}\n#{text}") if @comment
          File.write(summary, "#{text}\n", mode: "a") unless summary.empty?
        rescue SystemCallError => e
          raise UsageError, "the gate's files were not all written: #{e.message}"
        end

        def recorded(name) = results["tables"].select { |table| table["name"] == name }.flat_map { |one| one["rows"] }
      end
    end
  end
end
