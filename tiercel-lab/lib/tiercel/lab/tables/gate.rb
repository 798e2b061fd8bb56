# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # Finds out whether a change makes anything slower, for continuous integration.
    module Gate
      Judgement = Sides::Judgement

      # The settings of a repository's gate: the section `gate` of `.tiercel-lab.yml`. Unknown keys are errors,
      # because a misspelled margin would gate nothing.
      class Configuration
        FILE = ".tiercel-lab.yml"
        SERVERS = Sides::Counting::SERVERS
        ON_CANNOT_TELL = %w[pass fail].freeze
        DEFAULTS = { "benchmarks" => "bench/**/*_bench.rb", "cells" => [], "servers" => [], "margins" => {},
                     "budget" => 300, "prepare" => [], "sources" => nil, "cannot_tell" => "pass" }.freeze
        CELL = { "store" => nil, "operations" => %w[read write], "values" => %w[html-2kb] }.freeze

        # @param path [String] path of the file
        # @return [Configuration]
        # @raise [UsageError] if the file is missing or invalid
        def self.read(path)
          raise UsageError, "#{path}: there is no such file; `init gate` writes it" unless File.file?(path)
          new(YAML.safe_load_file(path) || {}, path:)
        rescue Psych::Exception => e
          raise UsageError, "#{path}: not YAML: #{e.message}"
        end

        # @param facts [Hash] the file's content
        # @param path [String] the file's path, for messages
        def initialize(facts, path: FILE)
          @path = path
          own = facts.is_a?(Hash) ? facts["gate"] || {} : facts
          @facts = DEFAULTS.merge(mapping(own, "gate", DEFAULTS.keys).compact)
          check
        end

        # @return [Array<String>] globs of files with benchmarks, below the repository
        def benchmarks = list("benchmarks")

        # @return [Array<Array(String, String, String)>] store, operation and value of each cell of the lab's own
        def cells
          @facts["cells"].flat_map do |cell|
            store, *others = CELL.merge(cell.compact).values_at(*CELL.keys).map { |part| Array(part) }
            store.product(*others)
          end
        end

        # @return [Array<String>] servers that run for the benchmarks
        def servers = list("servers")

        # @return [Hash{String => Float, nil}] the allowed growth of each figure: a share for the time, a number for
        #   exact figures; nil if the figure cannot fail the gate (a time is then not even measured)
        def margins = Judgement::MARGINS.merge(@facts["margins"])

        # @return [Float] seconds for timings
        def budget_seconds = Float(@facts["budget"])

        # @return [Array<String>] shell commands that make a tree ready
        def prepare = list("prepare")

        # @return [Array<String>, nil] globs of files that figures can depend on; nil: all
        def sources = @facts["sources"] && list("sources")

        # @return [Hash{String => Object}] the form of the results file
        def describe
          { "benchmarks" => benchmarks, "cells" => cells.map { |cell| cell.join(" ") }, "margins" => margins,
            "budget_seconds" => budget_seconds, "servers" => servers, "cannot_tell" => @facts["cannot_tell"] }
        end

        private

        def check
          mapping(@facts["margins"], "margins", Judgement::MARGINS.keys).each { |pair| check_margin(*pair) }
          cells, budget, word = @facts.values_at("cells", "budget", "cannot_tell")
          refuse("cells", cells, "a list of mappings with store, operations, values") unless cells.is_a?(Array)
          cells.each { |cell| check_cell(cell) }
          (servers - SERVERS).each { |name| refuse("servers", name, SERVERS.join(", ")) }
          refuse("budget", budget, "seconds above 0") unless budget.is_a?(Numeric) && budget.positive?
          refuse("cannot_tell", word, ON_CANNOT_TELL.join(" or ")) unless ON_CANNOT_TELL.include?(word)
          %w[benchmarks prepare sources].each { |key| list(key) }
        end

        def check_margin(name, margin)
          return if margin.nil? || (margin.is_a?(Numeric) && !margin.negative?)
          refuse("margins: #{name}", margin, "a number of at least 0 (time: a share, 0.05 is 5 %), or null")
        end

        def check_cell(cell)
          mapping(cell, "cells", CELL.keys)
          refuse("cells", cell, "a store") unless cell["store"]
        end

        def mapping(facts, key, known)
          refuse(key, facts, "a mapping of #{known.join(", ")}") unless facts.is_a?(Hash)
          unknown = facts.keys.map(&:to_s) - known
          return facts if unknown.empty?
          raise UsageError, "#{@path}: #{key}: #{Catalogue.unknown("key", unknown.first, known)}"
        end

        def list(key)
          found = Array(@facts[key])
          return found if found.all?(String)
          refuse(key, found, "words, or a list of them")
        end

        def refuse(key, found, expected)
          raise UsageError, "#{@path}: #{key}: #{found.inspect}: expected #{expected}"
        end
      end

      # Accepts intended regressions. A commit of the change says `Accept-Regression: CELL`, optionally with a reason
      # after a dash. After the merge the commit belongs to the base, so the line can stay.
      class Acceptance
        TRAILER = "Accept-Regression"

        # @param texts [Array<String>] cells, with or without reasons
        def initialize(texts)
          @texts = texts
        end

        # @param rows [Array<Hash{String => Object}>] see {Judgement}
        # @return [Array<Hash{String => Object}>] the rows; an accepted one has "accepted"
        def apply(rows)
          rows.map do |row|
            accepted = @texts.find { |text| of?(text, row["cell"]) }
            next row unless accepted && row["verdict"] == Judgement::REGRESSED
            row.merge("verdict" => Judgement::ACCEPTED, "reason" => accepted)
          end
        end

        private

        def of?(text, cell) = text == cell || text.match?(/\A#{Regexp.escape(cell)}\s+(-|--|\u2013|\u2014)\s/)
      end

      # Profiles every cell on both sides. The profiler's own viewer opens the files, alone or one beside the other.
      class Profiles < Sides::Step
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
           *configuration.cells.map { |cell| Sides::Cell.store(*cell).label },
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
        def head = @head || Sides::Checkout::HERE

        def checkout = @checkout ||= Sides::Checkout.new(@repository || Dir.pwd)

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
            sides.map do |name, revision, tree|
              Sides::Tree.new(name, revision:, sha: tree, checkout:, prepare: configuration.prepare,
                                    benchmarks: configuration.benchmarks)
            end
          end
        end

        def record
          run.table("gate", [], reason: "measured for the history, against nothing")
          @measurements << step(Sides::Recording).take(configuration.budget_seconds)
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
          stores = configuration.cells.map { |store, operation, value| Sides::Cell.store(store, operation, value) }
          stores + declared_benchmarks
        end

        def declared_benchmarks
          tree = trees.last
          return [] if tree.files.empty?
          listing = Sides::Listing.new(tree, seed: settings.seed)
          run.try(listing, Sides::Listing::SECONDS)
          listing.rows.map do |row|
            Sides::Cell.benchmark(row["name"], clock: row["clock"], servers: configuration.servers)
          end
        end

        # @return [Array<Hash{String => Object}>] a row for each metric of each cell
        def judge
          exact = step(Sides::Exact)
          rows = exact.rows
          rows += timing(exact).rows if timed?
          acceptance.apply(rows)
        end

        def timed? = !@exact && !run.interrupted? && configuration.margins[Judgement::TIME]

        def timing(exact)
          timing = step(Sides::Timing, exact.sound).within(@until_at, exact.open_seconds)
          timing.tap { @measurements = timing.measurements }
        end

        # @param type [Class<Step>]
        def step(type, cells = @cells) = type.new(cells, trees, run:, margins: configuration.margins, settings:)

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

      # Shows the verdicts of a gate, failures first.
      class View < Tables::View
        TONES = { Judgement::WRONG => :slower, Judgement::REGRESSED => :slower,
                  Judgement::CANNOT_TELL => :cannot_tell }.freeze
        # Rows are sorted by their verdicts in this order.
        ORDER = [Judgement::WRONG, Judgement::REGRESSED, Judgement::CANNOT_TELL, Judgement::NOT_CONFIRMED,
                 Judgement::ACCEPTED, Judgement::NEW, Judgement::IMPROVED, Judgement::SAME].freeze
        LEGEND = "Exact figures gate any growth beyond their margin; times where the whole interval of head by " \
                 "base, of the median or of the mean, is beyond its margin in two passes, both sides in turn in " \
                 "fresh processes."
        ACCEPT = "Where that is wanted, say so in a commit of the change, with the reason: the line " \
                 "`Accept-Regression: CELL - REASON` at the end of its message."

        def title
          return "Recorded for the history: #{side_words("head")}" if sides.one?
          "Gate: #{side_words("head")} against #{side_words("base")}"
        end

        def tone = TONES.find { |verdict, _tone| count(verdict).positive? }&.last || :same

        def sentence
          return "Recorded: #{cells(role: "contestant").size} cells, by the reference work." if sides.one?
          return "Passed: #{notes("gate")["reason"]}." if gate_rows.empty?
          failing = gate_rows.select { |row| [Judgement::WRONG, Judgement::REGRESSED].include?(row["verdict"]) }
          return passed if failing.empty?
          more = failing.size - 1
          "Failed: #{failing.first["cell"]}: #{failing.first["words"]}#{"; #{more} more" if more.positive?}."
        end

        def fill(document)
          add_verdicts(document)
          add_times(document) if cells.any?
          add_profiles(document) if rows("profiles").any?
          add_sides(document)
        end

        # A short report for a pull request.
        #
        # @return [Report::Document]
        def brief
          document = Report::Document.new(title:)
          document.verdict(sentence, tone:, warnings:)
          shown = gate_rows.reject { |row| row["verdict"] == Judgement::SAME }
          document.section("What changed") do |section|
            section.add(verdict_table(shown, command: nil)) if shown.any?
            same = gate_rows.size - shown.size
            section.text("#{same} of #{gate_rows.size} figures are the same, within their margins.")
            section.text(accept) if accept && count(Judgement::REGRESSED).positive?
          end
          document.section("The same on your machine") { |section| section.code(here) }
          document
        end

        # @return [Array<Hash{String => Object}>] see {Judgement}, with "words"; failures first
        def gate_rows
          @gate_rows ||= rows("gate").map { |row| row.merge("words" => words(row)) }
                                     .sort_by.with_index { |row, index| [ORDER.index(row["verdict"]), index] }
        end

        def environment
          super.merge("Revision" => sides.map { |side| "#{side["name"]} #{side["sha"].to_s[0, 12]}" }.join(", "))
        end

        private

        def noun = "Gate"

        # Instructions for accepting figures that grew.
        def accept = ACCEPT

        def sides = rows("sides")

        def side_words(name)
          side = sides.find { |one| one["name"] == name } or return name
          side["text"] == "." ? "this checkout" : side["text"].sub(/\A(\h{12})\h{28}\z/, "\\1")
        end

        def count(verdict) = gate_rows.count { |row| row["verdict"] == verdict }

        def passed
          counts = ORDER.filter_map { |verdict| "#{verdict} #{count(verdict)}" if count(verdict).positive? }
          word = count(Judgement::CANNOT_TELL).positive? ? "Undecided" : "Passed"
          "#{word}: of #{gate_rows.size} figures of #{gate_rows.map { |row| row["cell"] }.uniq.size} cells: " \
            "#{counts.join(", ")}."
        end

        def words(row)
          case row["metric"]
          when "values" then "#{row["verdict"]}: #{row["reason"]}"
          when Judgement::TIME then time_words(row)
          else exact_words(row)
          end
        end

        def exact_words(row)
          base, head = row.values_at("base", "head").map { |figures| range(figures) }
          same = base == head
          "#{Judgement::EXACT.fetch(row["metric"])}: #{same ? head : "#{base} \u2192 #{head}"}#{because(row)}"
        end

        def time_words(row)
          return ["time: #{row["verdict"]}", row["reason"]].compact.join(": ") unless row["ratio"]
          second = row["again"] ? ", and again #{ratio_text(row["again"], row["margin"])}" : ""
          margin = row["margin"] ? " (margin #{Report::Format.percent(row["margin"])})" : ""
          "time: #{ratio_text(row["ratio"], row["margin"])} the base's#{second}#{margin}#{because(row)}"
        end

        def because(row) = row["reason"] ? "; #{row["verdict"]}: #{row["reason"]}" : ""

        # Adds the mean if it differs from the median.
        def ratio_text(ratio, margin)
          median, mean = [ratio, ratio["mean"]].map { |found| interval(found) }
          texts = [median, mean].compact.map { |found| Report::Cell.interval(found, unit: "x").to_s }
          apart = mean && Statistics::Verdict.apart?(median, mean, 1.0 + margin.to_f)
          apart ? texts.join(", by the mean ") : texts.first
        end

        def range(figures)
          figures.minmax.uniq.map { |figure| Report::Cell.count(figure).to_s }.join("\u2013")
        end

        def add_verdicts(document)
          document.section("Verdicts") do |section|
            section.text(LEGEND)
            section.text(accept) if accept && count(Judgement::REGRESSED).positive?
            section.add(verdict_table(gate_rows)) if gate_rows.any?
          end
        end

        # The command to repeat the gate on another machine, without paths of the CI runner.
        def here
          base = sides.find { |side| side["name"] == "base" }
          ["bundle exec tiercel-lab gate", ("--base #{CommandLine.quote(base["text"])}" if base)].compact.join(" ")
        end

        def verdict_table(rows, command: self.command)
          columns = { "cell" => "cell", "figure" => "words", "verdict" => "verdict" }
          columns_table("#{noun}: verdicts", rows, columns, command:)
        end

        def add_times(document)
          document.section("Time") do |section|
            section.add(cell_table("#{noun}: times", cells, { "cell" => :name, "median" => :time, "ratio" => :ratio }))
            heads = cells(role: "contestant")
            baseline = sides.one? ? "reference work" : "base"
            plot = forest("#{noun}: by #{baseline}", heads, baseline:) and section.add(plot)
          end
        end

        def add_profiles(document)
          file = ->(row) { row["file"] ? File.basename(row["file"]) : missing(row) }
          columns = { "cell" => "cell", "side" => "side", "file for the profiler's viewer" => file }
          document.section("Where the time goes") do |section|
            section.add(columns_table("#{noun}: profiles", rows("profiles"), columns))
          end
        end

        def add_sides(document)
          document.section("What was compared") do |section|
            columns = { "side" => "name", "what" => "text", "revision" => ->(side) { side["sha"].to_s[0, 12] },
                        "title" => "title" }
            section.add(columns_table("#{noun}: the sides", sides, columns))
          end
        end
      end
    end
  end
end
