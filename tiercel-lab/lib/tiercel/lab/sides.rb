# frozen_string_literal: true

module Tiercel::Lab
  # Measures two sides of a change, base and head: counts exact figures of every cell, then times both sides in turn,
  # and the slower cells once more. `gate` and `compare A B` share this engine.
  #
  # A side has a `name` ("base" or "head"), `prepare(progress)`, and `contestant(cell)`: see {Tree}.
  module Sides
    Tiercel::Lab.declare self, "sides/counter" => %i[Counter], "sides/judgement" => %i[Judgement],
                               "sides/tree" => %i[Checkout Extensions Tree TreeBundle]

    # Lets a contestant run with the bundle of a side, under the side's name.
    module Placed
      # @return [String, nil] path of a gemfile
      attr_reader :bundle
      # @return [String]
      attr_reader :name

      # @param text [String] text of the contestant
      # @return [Contestant]
      def self.contestant(text, name:, bundle:)
        Contestants.parse(text).extend(self).tap { |one| one.instance_exec { @name, @bundle = name, bundle } }
      end
    end

    # A cell of both sides: a benchmark of the user, or an operation of a store on a value.
    Cell = Data.define(:label, :text, :operation, :value) do
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

    # A step of a comparison. All steps have the same cells and sides.
    class Step
      # @param cells [Array<Cell>]
      # @param trees [Array<Tree>] base and head
      # @param run [Engine::Run]
      # @param margins [Hash{String => Float, nil}] see {Judgement::MARGINS}
      # @param settings [CLI::Settings]
      def initialize(cells, trees, run:, margins:, settings:)
        @cells = cells
        @trees = trees
        @run = run
        @margins = margins
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
      # Servers that a relay can stand in front of.
      SERVERS = %w[memcached redis].freeze

      # Rows have "cell", "side", "process" and figures.
      #
      # @param trees [Array<Tree>] base and head
      # @param cells [Array<Cell>]
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

      # After a cell that failed, the next cell gets a fresh process.
      def count_with(bundle, tree, cells, process)
        bundle = Engine::Bundle.new(bundle) unless bundle.is_a?(Engine::Bundle)
        worker = nil
        cells.each do |cell|
          found = Engine::Outcome.of do
            worker ||= job("sides/counter", bundle:)
            count(worker, cell, tree.contestant(cell))
          end
          @rows << { "cell" => cell.label, "side" => tree.name, "process" => process, **found }
          @progress.advance(CELL_SECONDS, "#{tree.name}: #{cell.label}")
          worker = worker&.stop unless measured?(found)
        end
        @progress.advance(START_SECONDS, tree.name)
      ensure
        worker&.stop
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
          next [name, facts] unless SERVERS.include?(name) && facts["url"].to_s[Network::Proxy::PLACE]
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

      # @return [Array<Cell>] the cells with figures of both sides
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
        Judgement::EXACT.keys.filter_map do |metric|
          base, head = sides.map { |rows| rows.filter_map { |row| row[metric] } }
          next if base.empty? || head.empty?
          Judgement.exact(metric, base, head, margin: @margins[metric]).merge("cell" => cell.label)
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

      # A pass gets this share of the time left; the rest is for the confirmation of its slower cells.
      SHARE = 0.7
      # A pass with fewer processes decides nothing.
      LEAST_PROCESSES = 4
      # With fewer cells, a pass would mostly start processes.
      LEAST_CELLS = 4
      # One in this many cells of a medium has a null arm. A noise floor pools the null arms of its medium.
      CELLS_OF_A_NULL = 4
      # The average number of arms of a cell.
      ARMS = 2.0 + (1.0 / CELLS_OF_A_NULL)
      NO_TIME = "no time was left of the budget"

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

      # @return [Hash{Cell => Array}] head's records of two passes; nil for a cell that seems no slower
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

      # @return [Hash{Cell => Hash}] head's records
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
        own = @margins[Judgement::TIME] or return
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
      def take(budget_seconds)
        counting = Counting.new(@trees, cells: @cells, **inputs)
        @run.try(counting, counting.expected_seconds)
        @run.table("counted", counting.rows)
        # Every night has the same number of processes.
        protocol = Timing::PROTOCOL.with(most_processes: nil, budget_seconds:)
        @run.measure(@cells.map { |cell| comparison(cell) }, protocol:)
      end

      private

      def comparison(cell)
        reference = Placed.contestant(REFERENCE, name: "reference work", bundle: @trees.last.bundle)
        Engine::Comparison.rows(cell.value, [[reference, Operations.fetch("benchmark"), :baseline, nil],
                                             [@trees.last.contestant(cell), cell.operation, :contestant, nil]])
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
        job = job("sides/counter", bundle: @tree.bundle)
        found = job.call("list", files: @tree.files)
        raise CannotRun, "#{@tree.files.join(", ")}: #{found["reason"]}" unless Engine::Outcome.measured?(found)
        @rows = found["benchmarks"]
      ensure
        job&.stop
      end
    end
  end
end
