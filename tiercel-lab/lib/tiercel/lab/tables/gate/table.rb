# frozen_string_literal: true

require_relative "../table"
require_relative "../checkout"

module Tiercel
  module Lab
    module Tables
      # Tells whether a change makes anything slower, for continuous integration.
      module Gate
        class Table < Tables::Table
          called "gate", "Fails if a change makes something slower than its base."
          example "gate --base origin/main", "gate --base HEAD^ --exact", "gate --plan",
                  "gate --base origin/main --html gate.html --junit gate.xml --comment comment.md",
                  "gate --base v1.2.0 --head v1.3.0 --accept 'parse a page'"
          takes :quick, :seed, :cells

          BASE = "HEAD^"

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
            parser.on("--junit FILE", "the verdicts as test cases") { |file| @junit = writable("--junit", file) }
            parser.on("--comment FILE", "Markdown for a pull request") do |file|
              @comment = writable("--comment", file)
            end
            parser.on("--repository DIR", "any folder of the checkout (.)") { |folder| @repository = folder }
          end

          def plan_in_words
            files = configuration.benchmarks.flat_map { |glob| Dir.glob(glob, base: root) }
            ["#{configuration.cells.size} cells of stores, #{files.size} files of benchmarks, of #{base} and " \
             "#{head}; at most #{Report::Format.minutes(expected_seconds)} (`budget` of #{File.basename(file)})",
             *configuration.cells.map { |cell| GatedCell.store(*cell).label },
             *files].join("\n")
          end

          def expected_seconds = configuration.budget_seconds

          def take(_comparisons)
            @until_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + configuration.budget_seconds
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
            super.tap { |results| outputs.write(results) }
          end

          # Only counted rows have a status.
          def recorded_rows = recorded("counted")

          # Wrong results come before regressions, and regressions before undecided cells.
          def exit_code
            return super if @record || @profile
            verdicts = recorded("gate").map { |row| row["verdict"] }
            return CODES[:wrong] if verdicts.include?(Judgement::WRONG)
            return CODES[:does_not_hold] if verdicts.include?(Judgement::REGRESSED)
            return CODES[:ok] unless verdicts.include?(Judgement::CANNOT_TELL)
            CODES[configuration.strict? ? :does_not_hold : :undecided]
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

          def writable(option, file) = file.tap { Folder.check_of("#{option} #{file}", file) }

          def outputs = Outputs.new(junit: @junit, comment: @comment, table: self.class)

          def recorded(name) = results["tables"].select { |table| table["name"] == name }.flat_map { |one| one["rows"] }
        end
      end

      add Gate::Table
    end
  end
end
