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

        # @return [String] "base" or "head"
        attr_accessor :name

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
        def prepare(progress = nil); end

        # @param cell [Gate::GatedCell]
        # @param again [Boolean] true for the null arm, which runs in its own worker
        # @return [Contestant]
        def contestant(cell, again: false) = raise(NotImplementedError)

        # @return [Hash{String => Object}] the form of the results file
        def describe = { "name" => name, "text" => text, "title" => kind }

        private

        def placed(store, cell, gemfile)
          Contestants.parse(store).extend(Placed).run_with("#{name}: #{cell.label}", gemfile)
        end
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

        def contestant(cell, again: false)
          gemfile = Engine::Gemfile.based_on(Contestants.parse(cell.text).bundle, name: gem_name,
                                             source: %("= #{@version}"))
                                   .write("#{text}#{"-again" if again}")
          placed(cell.text, cell, gemfile)
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

        def contestant(cell, again: false) = placed(text, cell, @contestant.bundle)
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

        def prepare(progress = nil)
          return if here? || extensions.built?
          progress&.say("compiling #{text} (once)")
          extensions.build
        rescue CannotRun => e
          raise CannotRun, "#{text} could not be compiled: #{e.message}"
        end

        def contestant(cell, again: false)
          gemfile = Engine::Gemfile.new(base: nil, name: "tiercel", source: "path: #{folder.inspect}")
          placed(cell.text, cell, gemfile.write("tiercel-#{here? ? "checkout" : @sha[0, 12]}#{"-again" if again}"))
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

      # The two sides of `compare A B`: revisions of the repository, versions of a gem, or stores.
      module Sides
        GEM = /\A(?<name>[\w-]+(?:\.[\w-]+)*)@(?<version>\d[\w.]*)\z/

        module_function

        # @param text [String] GEM@VERSION; a store as in `--store`; otherwise a revision. "." is the present checkout;
        #   "git:REVISION" names a revision that looks like a store
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
          parser.on("--store STORE", "store that measures revisions and gems; repeatable") do |text|
            (@stores ||= []) << Contestants.parse(text).text
          end
          things parser, "--op", Operations, :operations, "see `help operations`"
          parser.on("--value A,B", Array, "see `help values`") { |names| @values = names }
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
          @trees ||= @texts.zip(%w[base head]).map { |text, name|
            Sides.parse(text, repository: @repository || Revision.repository).tap { |side| side.name = name }
          }.tap { |sides| Sides.check(sides, same: @same) }
        end

        def configuration
          @configuration ||= Gate::Configuration.new({ "gate" => { "budget" => BUDGET_SECONDS, "margins" => {
            "time" => MARGINS.fetch(settings.quick)
          } } })
        end

        def unchanged? = false

        def acceptance = Gate::Acceptance.new([])

        def outputs = nil

        def gated_cells
          stores = trees.first.is_a?(OptionSet) ? trees.last.stores : @stores || trees.first.stores
          operations = facts_given[:operations] ||
                       (settings.quick ? QUICK_OPERATIONS : OPERATIONS).map { |name| Operations.fetch(name) }
          stores.product(values, operations).map do |store, value, operation|
            label = [operation.name, value.name, *(store unless trees.first.is_a?(OptionSet))].join(" ")
            Gate::GatedCell.new(label:, text: store, operation:, value:)
          end
        end

        def values
          own = settings.data ? [Values::Files.new(directory: settings.data)] : []
          names = @values || (settings.quick ? QUICK_VALUES : VALUES)
          own + (own.any? && @values.nil? ? [] : names.map { |name| Values.fetch(name) })
        end
      end

      class SidesView < Gate::View
        WORDS = { Gate::Judgement::REGRESSED => "slower", Gate::Judgement::NOT_CONFIRMED => "slower once",
                  Gate::Judgement::IMPROVED => "faster" }.freeze
        MORE = { Gate::Judgement::REGRESSED => "more", Gate::Judgement::IMPROVED => "less" }.freeze

        def title = "#{names.last} against #{names.first}"

        def sentence
          times, counts = gate_rows.partition { |row| row["metric"] == Gate::Configuration::TIME }
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
