# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    module Compare
      # One side of a comparison.
      #
      # @abstract Subclasses describe the side and make its contestants.
      class Side
        # Lets a contestant run with the bundle of a side, under the side's name.
        module Placed
          # @return [String, nil] path of a gemfile
          attr_reader :bundle
          # @return [String]
          attr_reader :name

          # @param name [String]
          # @param bundle [String, nil]
          # @return [self]
          def run_with(name, bundle)
            @name = name
            @bundle = bundle
            self
          end
        end

        # @return [String] the user's argument that names the side
        def text = raise(NotImplementedError)

        # @return [String] the kind of side, in words
        def kind = raise(NotImplementedError)

        # @return [Object] equal for sides that do not differ
        def fingerprint = raise(NotImplementedError)

        # @return [String] the reason why two sides with the same fingerprint run the same code
        def sameness = raise(NotImplementedError)

        # @return [Array<String>] names of the stores to measure, if the user gives none
        def stores = raise(NotImplementedError)

        # Builds the side, unless it is built already.
        #
        # @param progress [#say, nil]
        # @return [void]
        # @raise [CannotRun]
        def prepare(progress: nil); end

        # @param store [String] text of a contestant
        # @param again [Boolean] true for the null arm, which runs in its own worker
        # @return [Contestant]
        def contestant(store, again: false) = raise(NotImplementedError)

        # @return [Hash{String => Object}] the form of the results file
        def describe = { "text" => text, "kind" => kind }

        private

        def placed(store, gemfile) = Contestants.parse(store).extend(Placed).run_with("#{text}: #{store}", gemfile)
      end

      # A version of a gem.
      class GemVersion < Side
        # The store that uses each gem.
        STORES = { "dalli" => "mem_cache_store", "redis" => "redis_cache_store",
                   "redis-client" => "redis_cache_store",
                   "hiredis-client" => "redis_cache_store", "litestack" => "litecache",
                   "solid_cache" => "solid_cache_store", "activesupport" => "memory_store",
                   "sqlite3" => "tiercel:sqlite:" }.freeze
        DEFAULT_STORE = "tiercel"

        # @return [String]
        attr_reader :gem_name

        # @param gem_name [String]
        # @param version [String]
        def initialize(gem_name, version)
          super()
          @gem_name = gem_name
          @version = Gem::Version.new(version)
        end

        def text = "#{gem_name}@#{@version}"

        def kind = "a version of a gem"

        def fingerprint = @version.canonical_segments

        def sameness = "these are the same version of #{gem_name}"

        def stores = [STORES.fetch(gem_name, DEFAULT_STORE)]

        def contestant(store, again: false)
          gemfile = Engine::Gemfile.based_on(Contestants.parse(store).bundle, name: gem_name,
                                             source: %("= #{@version}"))
                                   .write("#{text}#{"-again" if again}")
          placed(store, gemfile)
        end
      end

      # A store with its options.
      class OptionSet < Side
        # @param contestant [Contestant]
        def initialize(contestant)
          super()
          @contestant = contestant
        end

        def text = @contestant.text

        def kind = "a store"

        def fingerprint = [@contestant.class, @contestant.place, @contestant.options]

        def sameness = "these are the same store with the same options"

        # The side itself is the store.
        def stores = [text]

        def contestant(_store, again: false) = @contestant
      end

      # A revision of the repository, copied into the user's cache folder and compiled there. "." is the working copy.
      class Revision < Side
        # The files that can change a measurement.
        SOURCES = "{lib,ext}/**/*.{rb,c,h}"

        # @return [String] the repository that the lab lies in
        # @raise [UsageError] if it lies in none
        def self.repository
          Checkout.new(__dir__).folder
        rescue UsageError
          raise UsageError, "the lab lies in no git repository here; --repository DIR says where the checkout of " \
                            "tiercel is"
        end

        attr_reader :text

        # @param text [String] anything that `git rev-parse` resolves, or "."
        # @param repository [String] folder
        # @raise [UsageError] if it is not one
        def initialize(text, repository:)
          super()
          @text = text
          @checkout = Checkout.new(repository)
          @sha = @checkout.commit(text)
        rescue UsageError
          raise UsageError, "compare #{text}: neither a store (TYPE[:PLACE][#OPTION=VALUE]), nor GEM@VERSION, " \
                            "nor a revision in #{File.expand_path(repository)}"
        end

        def kind = "a revision"

        def fingerprint = @fingerprint ||= digest

        def sameness = "lib/ and ext/ are the same in both"

        def stores = ["tiercel:shared:"]

        def prepare(progress: nil)
          return if here? || extensions.built?
          progress&.say("compiling #{text} (once)")
          extensions.build
        rescue CannotRun => e
          raise CannotRun, "#{text} could not be compiled: #{e.message}"
        end

        def contestant(store, again: false)
          gemfile = Engine::Gemfile.new(base: nil, name: "tiercel", source: "path: #{folder.inspect}")
          placed(store, gemfile.write("tiercel-#{here? ? "checkout" : @sha[0, 12]}#{"-again" if again}"))
        end

        def describe
          super.merge("sha" => @sha, "title" => here? ? "the checkout as it is" : @checkout.title(@sha))
        end

        # @return [String] folder with the revision's files; copies them there if necessary
        def folder
          return @checkout.folder if here?
          path = File.join(File.dirname(Engine::Gemfile.folder), "revisions",
                           "#{@sha}-#{RUBY_VERSION}-#{RbConfig::CONFIG["arch"]}")
          copy(path) unless File.directory?(path)
          path
        end

        private

        def here? = text == Checkout::HERE

        def digest
          files = Dir.glob(SOURCES, base: folder).sort
          lines = files.map { |file| "#{file}\0#{Digest::SHA256.file(File.join(folder, file)).hexdigest}" }
          Digest::SHA256.hexdigest(lines.join("\n"))
        end

        # Renames the folder once it is complete, so that an interrupted copy is never used.
        def copy(path)
          partial = "#{path}.#{Process.pid}"
          FileUtils.mkdir_p(partial)
          @checkout.write(@sha, partial)
          File.rename(partial, path)
        rescue Errno::ENOTEMPTY, Errno::EEXIST
          nil # another run was quicker
        ensure
          FileUtils.rm_rf(partial)
        end

        def extensions = Extensions.new(folder)
      end

      # Cells of an earlier run, to which new cells are compared. The runs are not interleaved, so the ratio includes
      # changes of the machine since then.
      class SavedBaseline
        # Two runs of the same code differ in addresses, temperature and neighbours, so the margin is at least this.
        LEAST_MARGIN = 0.10

        # @return [String]
        attr_reader :path

        # @param path [String] a run's file, see {Engine::Results.load}
        # @raise [UsageError]
        def initialize(path)
          @path = path
          @results = Engine::Results.load(path)
        end

        # @param stores [Array<String>] texts of contestants
        # @return [Array<Array(String, String, String)>] store, value and operation of each cell that can be compared
        #   to
        # @raise [UsageError] if the file has no such cell
        def cells_of(stores)
          found = stores.product(usable).filter_map { |text, cell| key(cell) if cell["contestant"]["text"] == text }
          return found.uniq if found.any?
          there = usable.map { |cell| cell["contestant"]["text"] }.uniq
          raise UsageError,
                "#{path}: it has no cells of #{stores.join(", ")}; it has #{there.any? ? there.join(", ") : "none"}"
        end

        # @param record [Hash{String => Object}] a measured cell of the new run, as results hold it
        # @return [Hash{String => Object}, nil] "then" (ns), "ratio", "threshold", "verdict"; nil: not in the file
        def against(record)
          old = usable.reverse.find { |cell| key(cell) == key(record) }
          return unless old && record["summary"]
          one, other = [old, record].map { |cell| logarithms(cell["summary"]["ns"]) }
          ratio = other.minus(one).exp
          floor = [old["summary"]["floor"], record["summary"]["floor"], null_floor].compact.max.to_f
          margin = [LEAST_MARGIN, Engine::Protocol::FLOORS * floor].max
          { "cell" => record["id"], "then" => old["summary"]["ns"], "ratio" => ratio.record, "threshold" => margin,
            "verdict" => Statistics::Verdict.of(ratio, margin:, equality: false).to_s,
            "allocations" => old.dig("exact", "allocations"), "stored_bytes" => old.dig("exact", "stored_bytes") }
        end

        # @param environment [Hash{String => Object}] environment of the new run
        # @return [Array<String>] further differences between the runs
        def differences(environment)
          then_and_now = %w[cpu kernel ruby].filter_map do |fact|
            before, after = @results["environment"][fact], environment[fact]
            "#{fact}: #{before} then, #{after} now" unless before == after
          end
          ["Not interleaved: the baseline was measured at #{@results["run"]["started_at"]}.", *then_and_now]
        end

        private

        def usable
          @usable ||= @results["cells"].select do |cell|
            %w[baseline contestant].include?(cell["role"]) && cell["status"] == "measured" && cell["summary"]
          end
        end

        def null_floor
          @results["cells"].filter_map { |cell| cell.dig("summary", "floor") if cell["role"] == "null" }.max
        end

        def key(cell) = [cell["contestant"]["text"], cell["value"], cell["operation"]]

        def logarithms(hash)
          Statistics::Interval.new(*hash.values_at("estimate", "low", "high").map { |ns| Math.log(ns) })
        end
      end

      # The two sides of `compare A B`: revisions of the repository, versions of a gem, or stores.
      module Sides
        GEM = /\A(?<name>[\w-]+(?:\.[\w-]+)*)@(?<version>\d[\w.]*)\z/

        module_function

        # @param text [String] GEM@VERSION; a store as `--store` takes it; else a revision, "." for the checkout as it
        #   is, "git:REVISION" for one that is called as a store is
        # @param repository [String] folder
        # @return [Side]
        # @raise [UsageError]
        def parse(text, repository:)
          if (match = GEM.match(text)) then GemVersion.new(match[:name], match[:version])
          elsif (contestant = store(text)) then OptionSet.new(contestant)
          else Revision.new(text.delete_prefix("git:"), repository:)
          end
        end

        # @param sides [Array(Side, Side)]
        # @param same [Boolean] whether they may be the same
        # @return [void]
        # @raise [UsageError] if they cannot be compared
        def check(sides, same:)
          one, other = sides
          unless one.instance_of?(other.class)
            raise UsageError, "compare #{one.text} #{other.text}: #{one.kind} and #{other.kind} cannot be compared"
          end
          if one.is_a?(GemVersion) && one.gem_name != other.gem_name
            raise UsageError, "compare #{one.text} #{other.text}: two versions of one gem are expected"
          end
          return if same || one.fingerprint != other.fingerprint
          raise UsageError, "compare #{one.text} #{other.text}: #{one.sameness}; --same measures it against itself"
        end

        def store(text)
          return if text.start_with?("git:") || text == "."
          Contestants.parse(text)
        rescue UsageError
          raise if text.include?("#") || text.match?(/\A\w+:(?!\z)/)
          nil
        end
        private_class_method :store
      end

      # `compare A B`: two sides against each other. {Compare::Table} chooses this table if the command has sides.
      class SidesTable < Tables::Table
        called "compare", "Compares two revisions, two versions of a gem, or two stores."
        example "compare main .", "compare v0.1.0 HEAD --store tiercel:memory: --op read,fetch",
                "compare dalli@5.0.2 dalli@5.3.1",
                "compare tiercel:shared:#compress=false tiercel:shared: --value html-822kb",
                "compare . --baseline results/kept.jsonl", "compare main . --markdown summary.md"
        takes :quick, :seed, :cells, :data

        OPERATIONS = %w[read fetch write].freeze
        VALUES = %w[string-100b html-2kb rows-50].freeze
        QUICK_OPERATIONS = %w[read write].freeze
        QUICK_VALUES = %w[html-2kb].freeze

        def self.usage = "A B"

        def self.view(results, command:) = SidesView.new(results, command:)

        def options(parser)
          parser.separator("    A, B: a revision (\".\": the working copy), GEM@VERSION, or a store")
          parser.on("--store STORE", "store that measures revisions and gems; repeatable") do |text|
            (@stores ||= []) << Contestants.parse(text).text
          end
          things parser, "--op", Operations, :operations, "see `help operations`"
          parser.on("--value A,B", Array, "see `help values`") { |names| @values = names }
          parser.on("--baseline FILE",
                    "in place of A: the file of an earlier run (not interleaved)") { |file| @file = file }
          parser.on("--same", "A and B may be the same") { @same = true }
          parser.on("--repository DIR", "Git repository of the revisions") { |folder| @repository = folder }
        end

        def accept(rest)
          if rest.size != (@file ? 1 : 2)
            raise UsageError, "compare #{rest.join(" ")}: expected two sides, or one and --baseline FILE"
          end
          @texts = rest
        end

        def plan
          @sides = @texts.map { |text| Sides.parse(text, repository: @repository || Revision.repository) }
          Sides.check(@sides, same: @same) unless @file
          @saved = @file && SavedBaseline.new(@file)
          return [] if settings.plan && revisions? # a plan copies and compiles nothing
          keys.map { |store, value, operation| comparison(store, value_of(value), Operations.fetch(operation)) }
        end

        def plan_in_words
          return unless revisions?
          "#{keys.size} comparisons of #{@texts.join(" and ")}: #{keys.map { |key| key.join(" ") }.join("; ")}"
        end

        def take(comparisons)
          run.start
          run.table("sides", @sides.map(&:describe), baseline: @saved&.path)
          first = cells(comparisons)
          return against_saved(first) if @saved
          confirm(comparisons, first)
        end

        def warnings
          @saved ? super + @saved.differences(run.results["environment"]) : super
        end

        # Only a regression that the second pass confirms fails the command. A quick run has no second pass.
        def exit_code
          confirmed = SidesView.new(results, command: "").confirmed.any?
          super.nonzero? || CODES[confirmed ? :does_not_hold : :ok]
        end

        private

        # The user chose both sides, so a side that cannot run fails the command.
        def asked_in_vain?(row) = row["status"] == Engine::Outcome::CANNOT_RUN

        def revisions? = @sides.grep(Revision).any?

        # The rows about the sides have no status.
        def recorded_rows = []

        def keys
          return saved_keys if @saved
          values = settings.data ? [own_value.name, *@values] : @values || (settings.quick ? QUICK_VALUES : VALUES)
          stores.product(values, operations || (settings.quick ? QUICK_OPERATIONS : OPERATIONS))
        end

        def operations = facts_given[:operations]&.map(&:name)

        def saved_keys
          @saved.cells_of(stores).select do |_store, value, operation|
            (@values.nil? || @values.include?(value)) && (operations.nil? || operations.include?(operation)) &&
              Values.known?(value)
          end
        end

        def own_value = @own_value ||= Values::Files.new(directory: settings.data)

        def value_of(name) = settings.data && name == own_value.name ? own_value : Values.fetch(name)

        def stores = @sides.first.is_a?(OptionSet) ? @sides.last.stores : @stores || @sides.first.stores

        # Sides with a bundle run in workers of their own. So does the null arm, because processes differ more than
        # arms of one process.
        def comparison(store, value, operation)
          @sides.each { |side| side.prepare(progress: run) }
          first, second = @sides.map { |side| side.contestant(store) }
          if second && @sides.first.is_a?(OptionSet)
            second = Contestants.parse("again=#{second.text}") if second.name == first.name
            return Engine::Comparison.of(value:, operation:, contestants: [first, second])
          end
          again = @sides.first.contestant(store, again: true)
          Engine::Comparison.rows(value, [[first, operation, :baseline, nil],
                                          *([[second, operation, :contestant, nil]] if second),
                                          [again, operation, :null, 0]])
        end

        def confirm(comparisons, first)
          return if settings.quick || run.interrupted?
          slower = first.cells.select { |cell| cell.arm.role == :contestant && cell.summary&.verdict == :slower }
          suspects = comparisons & slower.map(&:comparison)
          run.measure(suspects, protocol:) if suspects.any?
        end

        def against_saved(measurement)
          records = measurement.cells.select { |cell| cell.arm.row? }.map(&:record)
          run.table("baseline", records.filter_map { |record| @saved.against(record) }, path: @saved.path)
        end
      end

      # Shows two sides against each other, or one side against an earlier run.
      class SidesView < Tables::View
        COLUMNS = { "what" => :label, "A" => :a_time, "B" => ->(row) { time(row.b) }, "ratio B / A" => :ratio_cell,
                    "verdict" => :verdict_of, "objects" => ->(row) { change(row, "allocations") },
                    "bytes" => ->(row) { change(row, "stored_bytes") } }.freeze

        # One comparison of a run: the cell of A (nil if A is a saved run), the cell of B, B's cell of the second
        # pass, and the figures of the saved run.
        Row = Struct.new(:a, :b, :again, :saved) do
          def ratio = saved ? saved["ratio"] : b.dig("summary", "ratio")
          def verdict = saved ? saved["verdict"] : b.dig("summary", "verdict")

          # Returns whether both passes found B slower. Only a repeated result proves a regression.
          def confirmed? = verdict == "slower" && again&.dig("summary", "verdict") == "slower"
        end

        # @param sides [Array<Hash>] see {Side#describe}
        # @return [Array<String>] how they are called
        def self.names_of(sides) = sides.map { |side| side["text"] == "." ? "this checkout" : side["text"] }

        def title = "#{names.first} against #{names.last}"

        def tone
          return :slower if confirmed.any? || (quick? && tally["slower"])
          return :faster if tally["faster"] && !tally["slower"]
          tally.keys == ["same"] ? :same : :cannot_tell
        end

        def sentence
          return "Nothing could be measured." if compared.none?(&:ratio)
          counts = tally.slice("slower", "faster", "uneven", "same", "cannot_tell").map do |word, count|
            "#{word.tr("_", " ")} in #{count}"
          end
          most = "; #{extreme_words}" if extreme
          "#{names.last} against #{names.first}: #{counts.join(", ")} of #{compared.size} cells#{most}.#{repeated}"
        end

        def fill(document)
          document.section("Time") { |section| add_times(section) }
          document.section("What was compared") { |section| add_sides(section) }
        end

        # @return [Array<Row>]
        def compared
          @compared ||= saved? ? saved_rows : interleaved_rows
        end

        # @return [Array<Row>] regressions that were found twice
        def confirmed = compared.select(&:confirmed?)

        private

        def sides = rows("sides")

        def saved? = !notes("sides")["baseline"].nil?

        def names
          own = SidesView.names_of(sides)
          saved? ? [File.basename(notes("sides")["baseline"]), *own] : own
        end

        def saved_rows
          by_cell = rows("baseline").to_h { |row| [row["cell"], row] }
          cells(role: "baseline").map { |cell| Row.new(nil, cell, nil, by_cell[cell["id"]]) }
        end

        # A cell with a second pass is recorded twice.
        def interleaved_rows
          groups = results["cells"].group_by { |cell| cell["id"] }
          baselines, others = %w[baseline contestant].map do |role|
            groups.values.select { |cells| cells.first["role"] == role }
          end
          baselines.zip(others).filter_map { |a, b| Row.new(a.first, b.first, b[1], nil) if b }
        end

        def tally = compared.map(&:verdict).tally

        def extreme
          compared.select { |row| %w[slower faster].include?(row.verdict) }.max_by do |row|
            Math.log(row.ratio["estimate"]).abs
          end
        end

        def extreme_words
          ratio = Report::Cell.interval(interval(extreme.ratio), unit: "x")
          "largest estimate: #{label(extreme)} takes #{ratio} the time"
        end

        def repeated
          passes = compared.select(&:again)
          return "" if passes.empty?
          " A second pass found #{confirmed.size} of #{passes.size} slower again."
        end

        def add_times(section)
          section.text(method_words)
          section.add(columns_table("Compare: A is #{names.first}, B is #{names.last}", compared, COLUMNS,
                                    raw: method(:blocks_of)))
          plot = ratios and section.add(plot)
        end

        def method_words
          if saved?
            return "B was measured now, A is of an earlier run: they are not interleaved, so a difference may be " \
                   "the machine's."
          end
          "A and B in turn and back again, in fresh processes; the noise floor is A against itself, once more in a " \
            "process of its own where the sides have processes of their own. Objects and bytes are counted " \
            "exactly: any change is one."
        end

        def blocks_of(row)
          { "A" => row.a, "B" => row.b }.select { |_side, cell| cell && measured?(cell) }
                                        .to_h { |side, cell| ["#{side}: #{label(row)}", block_us(cell)] }
        end

        def ratio_cell(row) = figure(interval(row.ratio), "x", muted: row.verdict == "cannot_tell")

        def a_time(row)
          return time(row.a) if row.a
          row.saved ? us(row.saved["then"]) : Report::Cell.missing("not in the file")
        end

        def verdict_of(row)
          return verdict(row.b) unless row.saved || row.again
          return "" unless row.verdict
          return row.verdict.to_sym unless row.again
          found = row.confirmed? ? "found it slower again." : "did not find it again: not confirmed."
          Report::Cell.verdict(row.verdict.to_sym, note: "A second, fresh pass #{found}")
        end

        def change(row, fact)
          before = row.a ? row.a.dig("exact", fact) : row.saved&.fetch(fact)
          after = row.b.dig("exact", fact)
          return Report::Cell.count(after) if before == after
          [before, after].map { |figure| figure ? Report::Cell.count(figure).to_s : "?" }.join(" \u2192 ")
        end

        # Names a row by the properties in which rows differ.
        def label(row)
          shown = [row.b["operation"], row.b["value"]].join(" ")
          sides.first&.fetch("kind") == "a store" ? shown : "#{shown}, #{row.b["contestant"]["text"]}"
        end

        def ratios
          drawn = compared.select(&:ratio)
          return if drawn.empty?
          margin = drawn.map { |row| row.saved ? row.saved["threshold"] : margin(row.b) }.max
          plot = Report::Charts::ForestPlot.new("Compare: ratios", baseline: names.first, margin: band(margin))
          drawn.each { |row| plot.row(label(row), interval(row.ratio), row.verdict.to_sym) }
          plot
        end

        def add_sides(section)
          section.table("Compare: the sides", header: ["", "what", "revision", "title"]) do |table|
            table.row("A", notes("sides")["baseline"], "", "an earlier run") if saved?
            sides.each_with_index do |side, index|
              table.row(saved? ? "B" : %w[A B][index], side["text"], side["sha"].to_s[0, 12],
                        side["title"] || side["kind"])
            end
          end
        end
      end
    end
  end
end
