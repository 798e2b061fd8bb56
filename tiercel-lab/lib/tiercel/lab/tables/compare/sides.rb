# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    module Compare
      # One side of a comparison. Two sides with equal fingerprints do not differ; `sameness` has the reason. If the
      # user names no store, the side measures its `stores`.
      #
      # @!attribute [r] name
      #   @return [String] "base" or "head"
      # @!attribute [r] text
      #   @return [String] the user's argument
      # @!attribute [r] kind
      #   @return [String] the kind of side, in words
      # @!attribute [r] bundled
      #   @return [Proc] takes the text of a store and a suffix for gemfiles, and returns the store's bundle
      Side = Data.define(:name, :text, :kind, :fingerprint, :sameness, :stores, :bundled) do
        def prepare(_progress = nil) = nil

        # @param cell [Sides::Cell]
        # @param again [Boolean] true for the null arm, which runs in its own worker
        # @return [Contestant]
        def contestant(cell, again: false)
          store = kind == Arguments::STORE ? text : cell.text
          Sides::Placed.contestant(store, name: "#{name}: #{cell.label}",
                                          bundle: bundled.call(store, ("-again" if again)))
        end

        # @return [Hash{String => Object}] the form of the results file
        def describe = { "name" => name, "text" => text, "title" => kind }
      end

      # A revision of the repository whose gem runs in the lab's own bundle. "." is the working copy.
      class Revision < Sides::Tree
        # The files that can change a measurement.
        SOURCES = ["{lib,ext}/**/*.{rb,c,h}"].freeze

        # @return [String] the repository that the lab lies in
        # @raise [UsageError] if it lies in none
        def self.repository
          Sides::Checkout.new(__dir__).folder
        rescue UsageError
          raise UsageError, "the lab lies in no git repository here; --repository DIR says where the checkout of " \
                            "tiercel is"
        end

        # @param text [String] anything that `git rev-parse` resolves, or "."
        # @param repository [String] folder
        # @raise [UsageError] if it is not one
        def initialize(name, text, repository:)
          checkout = Sides::Checkout.new(repository)
          super(name, revision: text, sha: checkout.tree(text), checkout:)
        rescue UsageError
          raise UsageError, "compare #{text}: neither a store (TYPE[:PLACE][#OPTION=VALUE]), nor GEM@VERSION, " \
                            "nor a revision in #{File.expand_path(repository)}"
        end

        def kind = "a revision"

        def fingerprint = @checkout.entries(sha, SOURCES)

        def sameness = "lib/ and ext/ are the same in both"

        def stores = ["tiercel:shared:"]

        def contestant(cell, again: false)
          gemfile = Engine::Gemfile.new(base: nil, name: "tiercel", source: "path: #{folder.inspect}")
          Sides::Placed.contestant(cell.text, name: "#{name}: #{cell.label}",
                                   bundle: gemfile.write("tiercel-#{sha[0, 12]}#{"-again" if again}"))
        end

        private

        def install(_progress) = nil
      end

      # Finds out what the arguments of `compare A B` name.
      module Arguments
        GEM_VERSION, STORE = "a version of a gem", "a store"
        # The store that uses each gem.
        STORES = { "dalli" => "mem_cache_store", "redis" => "redis_cache_store",
                   "redis-client" => "redis_cache_store",
                   "hiredis-client" => "redis_cache_store", "litestack" => "litecache",
                   "solid_cache" => "solid_cache_store", "activesupport" => "memory_store",
                   "sqlite3" => "tiercel:sqlite:" }.freeze
        GEM = /\A(?<name>[\w-]+(?:\.[\w-]+)*)@(?<version>\d[\w.]*)\z/

        module_function

        # @param name [String] "base" or "head"
        # @param text [String] GEM@VERSION; a store as in `--store`; otherwise a revision. "." is the present checkout;
        #   "git:REVISION" names a revision that looks like a store
        # @param repository [String] folder
        # @return [Side, Revision]
        # @raise [UsageError]
        def parse(name, text, repository:)
          if (match = GEM.match(text)) then gem_version(name, match[:name], Gem::Version.new(match[:version]))
          elsif (contestant = store(text)) then option_set(name, contestant)
          else Revision.new(name, text.delete_prefix("git:"), repository:)
          end
        end

        def gem_version(name, gem, version)
          text = "#{gem}@#{version}"
          bundled = lambda do |store, suffix|
            Engine::Gemfile.based_on(Contestants.parse(store).bundle, name: gem, source: %("= #{version}"))
                           .write("#{text}#{suffix}")
          end
          Side.new(name:, text:, kind: GEM_VERSION, fingerprint: version.canonical_segments,
                   sameness: "these are the same version of #{gem}", stores: [STORES.fetch(gem, "tiercel")], bundled:)
        end

        def option_set(name, contestant)
          Side.new(name:, text: contestant.text, kind: STORE,
                   fingerprint: [contestant.class, contestant.place, contestant.options],
                   sameness: "these are the same store with the same options", stores: [contestant.text],
                   bundled: ->(*) { contestant.bundle })
        end

        # @param sides [Array(Side, Side)]
        # @param same [Boolean] whether they may be the same
        # @return [void]
        # @raise [UsageError] if they cannot be compared
        def check(sides, same:)
          one, other = sides
          unless one.kind == other.kind
            raise UsageError, "compare #{one.text} #{other.text}: #{one.kind} and #{other.kind} cannot be compared"
          end
          if one.kind == GEM_VERSION && sides.map { |side| side.text[/\A[^@]+/] }.uniq.size > 1
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
        private_class_method :store, :gem_version, :option_set
      end

      # Two sides, measured as a gate measures base and head: exact figures, then times in turn in fresh processes, then
      # the slower cells once more.
      class SidesTable < Gate::Table
        called "compare", "Compares two revisions, two versions of a gem, or two stores."
        example "compare main .", "compare v0.1.0 HEAD --store tiercel:memory: --op read,fetch",
                "compare dalli@5.0.2 dalli@5.3.1",
                "compare tiercel:shared:#compress=false tiercel:shared: --value html-822kb",
                "compare main . --markdown summary.md"
        takes :quick, :seed, :cells, :data

        OPERATIONS = %w[read fetch write].freeze
        VALUES = %w[string-100b html-2kb rows-50].freeze
        QUICK_OPERATIONS = %w[read write].freeze
        QUICK_VALUES = %w[html-2kb].freeze
        # Times differ beyond the margin of their medium; a quick run finds 10 %.
        MARGINS = { false => 0.0, true => 0.10 }.freeze
        BUDGET_SECONDS = 3_600

        def self.usage = "A B"

        def self.view(results, command:) = SidesView.new(results, command:)

        def options(parser)
          parser.separator("    A, B: a revision (\".\": the working copy), GEM@VERSION, or a store")
          store_option(parser, default: "the one of the gem; for revisions shared:")
          things parser, "--op", Operations, :operations, "see `help operations`"
          value_option(parser, default: VALUES.join(","))
          parser.on("--same", "A and B may be the same") { @same = true }
          parser.on("--repository DIR", "Git repository of the revisions") { |folder| @repository = folder }
        end

        def accept(rest)
          raise UsageError, "compare #{rest.join(" ")}: expected two sides" if rest.size != 2
          @texts = rest
        end

        def plan
          trees
          []
        end

        def plan_in_words
          "#{gated_cells.size} comparisons of #{@texts.join(" and ")}: #{gated_cells.map(&:label).join("; ")}"
        end

        def expected_seconds = gated_cells.size * (settings.quick ? 6.0 : 40.0)

        # The exit code of a gate, except that an undecided cell does not fail the comparison.
        def exit_code
          return CODES[:undecided] if recorded_rows.any? { |row| asked_in_vain?(row) }
          code = super
          code == CODES[:undecided] ? CODES[:ok] : code
        end

        private

        def asked_in_vain?(row) = row["status"] == Engine::Outcome::CANNOT_RUN

        def trees
          @trees ||= %w[base head].zip(@texts).map { |name, text|
            Arguments.parse(name, text, repository: @repository || Revision.repository)
          }.tap { |sides| Arguments.check(sides, same: @same) }
        end

        def configuration
          @configuration ||= Gate::Configuration.new({ "gate" => { "budget" => BUDGET_SECONDS, "margins" => {
            "time" => MARGINS.fetch(settings.quick)
          } } })
        end

        def unchanged? = false

        def acceptance = Gate::Acceptance.new([])

        def write(_view) = nil

        def gated_cells
          of_stores = trees.first.kind == Arguments::STORE
          stores = of_stores ? trees.last.stores : @stores&.map(&:text) || trees.first.stores
          operations = facts_given[:operations] ||
                       (settings.quick ? QUICK_OPERATIONS : OPERATIONS).map { |name| Operations.fetch(name) }
          values = chosen_values(settings.quick ? QUICK_VALUES : VALUES)
          stores.product(values, operations).map do |store, value, operation|
            label = [operation.name, value.name, *(store unless of_stores)].join(" ")
            Sides::Cell.new(label:, text: store, operation:, value:)
          end
        end
      end

      class SidesView < Gate::View
        WORDS = { Sides::Judgement::REGRESSED => "slower", Sides::Judgement::NOT_CONFIRMED => "slower once",
                  Sides::Judgement::IMPROVED => "faster" }.freeze
        MORE = { Sides::Judgement::REGRESSED => "more", Sides::Judgement::IMPROVED => "less" }.freeze

        def title = "#{names.last} against #{names.first}"

        def sentence
          times, counts = gate_rows.partition { |row| row["metric"] == Sides::Judgement::TIME }
          return "Nothing could be measured." if gate_rows.empty? || times.none? { |row| row["ratio"] }
          told = times.map { |row| WORDS.fetch(row["verdict"], row["verdict"]) }.tally
          changed = counts.select { |row| MORE.key?(row["verdict"]) }
                          .map { |row| "#{MORE[row["verdict"]]} #{row["metric"].tr("_", " ")}" }.tally
          "#{names.last} against #{names.first}: #{listed(told)} of #{times.size} cells#{largest(times)}" \
            "#{"; #{listed(changed)}" if changed.any?}."
        end

        private

        def listed(counts) = counts.map { |word, count| "#{word} in #{count}" }.join(", ")

        def names = sides.map { |side| side["text"] == "." ? "this checkout" : side["text"] }

        def largest(times)
          row = times.select { |one| WORDS.key?(one["verdict"]) }
                     .max_by { |one| Math.log(one["ratio"]["estimate"]).abs }
          row ? "; largest estimate: #{row["cell"]} takes #{ratio_text(row["ratio"], row["margin"])} the time" : ""
        end

        def accept = nil

        def noun = "Compare"
      end
    end
  end
end
