# frozen_string_literal: true

require "tiercel/lab/cli"

module Tiercel::Lab
  module Tables
    # Compares the answers of quick runs with full runs of all stores, on applications from which no rule of the
    # answer was derived.
    module Choice
      # An application: its values, and the options that state its constraints. No rule of the answer was derived from
      # these values, and none of them is a value of the lab.
      Case = Data.define(:values, :options)

      class Case
        # Options of two applications for each kind of values.
        ALL = { "json-5kb" => ["--workers 4 --survives restart", "--machines 2 --workers 2"],
                "html-40kb" => ["--workers 1", "--workers 2 --survives reboot"],
                "short-strings" => ["--workers 8 --memory 16MB", "--workers 1 --survives restart"],
                "pictures-60kb" => ["--machines 3 --survives reboot", "--workers 2 --memory 64MB"],
                "mixed" => ["--workers 3 --memory 32MB --survives reboot",
                            "--machines 2 --workers 4 --memory 128MB"] }
              .flat_map { |values, all| all.map { |options| new(values, options.split) } }.freeze

        # @return [String]
        def words = "#{values}, #{options.join(" ")}"
      end

      # Writes the files of a kind of values.
      module Files
        COUNTS = { "json-5kb" => 150, "html-40kb" => 50, "short-strings" => 800, "pictures-60kb" => 40,
                   "mixed" => 90 }.freeze
        WORDS = %w[amber brook cedar delta ember fjord grove haven inlet jetty knoll ledge marsh north ocean].freeze
        KINDS = %w[json-5kb html-40kb short-strings].freeze

        module_function

        # @param folder [String] an existing folder
        # @return [void]
        def write(kind, folder, seed:)
          random = Random.new(seed)
          COUNTS.fetch(kind).times do |index|
            File.binwrite(File.join(folder, format("%04d", index)), text(kind, index, random))
          end
        end

        def text(kind, index, random)
          case kind
          when "json-5kb" then JSON.generate(Array.new(50) { |row| record(row, random) })
          when "html-40kb" then "<ul>#{Array.new(700) { item(random) }.join("\n")}</ul>"
          when "short-strings" then sentence(random.rand(3..30), random)
          when "pictures-60kb" then random.bytes(random.rand(50_000..70_000))
          else text(KINDS[index % KINDS.size], index, random)
          end
        end

        def record(row, random)
          { id: row, name: sentence(4, random), price: random.rand(10_000) / 100.0, tags: [sentence(1, random)] }
        end

        def item(random) = %(<li class="#{sentence(1, random)}">#{sentence(6, random)}</li>)

        def sentence(words, random) = Array.new(words) { WORDS.sample(random:) }.join(" ")
      end

      # A first choice is good if it costs at most this multiple of the best store's cost.
      MOST_TIMES = 1.05

      module_function

      # @param results [Hash{String => Object}] of a run of `compare`
      # @param constraints [Hash{String => Object}] see {Answer::Constraints#record}
      # @return [Answer::Choice]
      def of(results, constraints) = Answer.of(results, constraints, program: "bin/lab").choice

      # @return [Hash{String => Float}] cost of a page by store, of those that meet the constraints
      def costs(results, constraints)
        truth = of(results, constraints)
        truth.suiting.to_h { |store| [store.text, truth.cost(store).estimate] }
      end

      # A change of the answer that a quick run foretells, beside the costs of the full run under that constraint. A
      # change that the quick run could not measure is no claim.
      #
      # @param change [Answer::Choice::Change]
      # @param exhaustive [Hash{String => Object}] results of the full run
      # @return [Hash{String => Object}] "right" is nil without a claim
      def foretold(change, exhaustive)
        costs = costs(exhaustive, change.constraints.record)
        right = case change.state
                when :clear then costs.fetch(change.names.first, Float::INFINITY) <= costs.values.min * MOST_TIMES
                when :tied then change.names.include?(costs.key(costs.values.min))
                when :nothing then costs.empty?
                end
        { "constraints" => change.constraints.options.join(" "), "state" => change.state.to_s,
          "names" => change.names, "right" => right }
      end

      class Table < Tables::Table
        called "choice", "Whether the first choice of a quick run is the best of a full one."
        example "choice", "choice --quick", "choice --plan"
        takes :quick, :seed

        CALLS = %w[--op read,write].freeze
        # Planned times of a run. On a slow machine, the budget shortens a full run to fewer processes.
        EXHAUSTIVE_SECONDS = 170
        QUICK_SECONDS = 60
        # All stores in fresh processes; a fourth of the processes that the verdicts of a full run may take.
        EXHAUSTIVE = [*CALLS, "--processes", "6", "--budget", "115",
                      *Answer::Candidate::ALL.flat_map { |store| ["--store", store] }].freeze
        def plan_in_words = "#{cases.size} applications with #{kinds.size} kinds of values."

        def expected_seconds = (kinds.size * EXHAUSTIVE_SECONDS) + (cases.size * QUICK_SECONDS)

        # Ctrl-C and SIGTERM keep the rows so far.
        def take(_comparisons)
          rows, @failures = [], []
          Dir.mktmpdir do |folder|
            run.watch(expected_seconds) do |progress|
              @progress = progress
              kinds.each { |kind| examine(kind, File.join(folder, kind)) { |row| rows << row } }
            end
          end
          run.table("choice", rows, asked: cases.size)
        end

        def warnings = super + @failures

        def exit_code
          codes = { holds: :ok, fails: :does_not_hold, undecided: :undecided }
          CODES.fetch(codes.fetch(View.new(results, command: "").state))
        end

        private

        # A quick run only shows that the command works.
        def cases = settings.quick ? Case::ALL.first(2) : Case::ALL

        def kinds = cases.map(&:values).uniq

        # @yieldparam row [Hash{String => Object}]
        def examine(kind, folder)
          Dir.mkdir(folder)
          Files.write(kind, folder, seed: settings.seed)
          exhaustive = answered(EXHAUSTIVE_SECONDS, "#{kind}: all stores", "--data", folder, *EXHAUSTIVE)
          cases.each { |one| yield judged(one, folder, exhaustive) if one.values == kind }
        rescue CannotRun => e # no other case of this kind is judged
          @failures << e.message
        end

        # @return [Hash{String => Object}] results of a run of `compare` in a process of its own
        def answered(seconds, what, *arguments)
          entry = CLI::All::Entry.new(name: "compare", arguments: [*arguments, "--seed", settings.seed.to_s])
          part = Dir.mktmpdir do |folder|
            CLI::All::Child.new(entry, more: [], folder:).run do |line|
              @progress.advance(0, "#{what}: #{line[/ left: (.*)/, 1] || line}")
            end
          end
          @progress.advance(seconds, what)
          raise Interrupt if part.state == "interrupted"
          raise CannotRun, "#{what}: #{part.note}" unless part.complete?
          part.results
        end

        def judged(one, folder, exhaustive)
          quick = answered(QUICK_SECONDS, one.words, "--quick", "--data", folder, *CALLS, *one.options)
          found = Choice.of(quick, quick["constraints"])
          costs = Choice.costs(exhaustive, quick["constraints"])
          first = found.first&.text
          { "case" => one.words, "first" => first, "clear" => found.clear?, "best" => costs.key(costs.values.min),
            "times" => costs.key?(first) ? costs[first] / costs.values.min : nil,
            "changes" => found.changes.map { |change| Choice.foretold(change, exhaustive) }, "costs" => costs }
        end
      end

      # Shows each application's first choice beside the best store of the full run.
      class View < Tables::View
        def title = "The first choice of a quick run, and the best store of a full run"

        def subtitle = "Values and constraints from which no rule was derived; one full run for each kind of values"

        # @return [Symbol] :holds, :fails, or :undecided if something was not measured
        def state
          return :fails if claims.any? { |claim| !claim["right"] } || good.size < applications.size
          applications.size == notes("choice")["asked"] ? :holds : :undecided
        end

        def sentence
          return "Nothing could be measured." if applications.empty?
          "The first choice costs at most 5 % more than the best in #{good.size} of #{applications.size} cases. Of " \
            "what would change the answer, #{claims.count { |claim| claim["right"] }} of #{claims.size} claims are " \
            "right, and #{changes.size - claims.size} say what to run."
        end

        def fill(document)
          document.section("Applications") do |section|
            section.add(columns_table("Choice: applications", applications, COLUMNS))
          end
        end

        COLUMNS = {
          "application" => "case", "first choice" => "first",
          "clear" => ->(row) { row["clear"] ? "yes" : "cannot tell" }, "best of all" => "best",
          "cost by the best's" => ->(row) { row["times"] ? Report::Cell.number(row["times"], unit: "x") : "" },
          "foretold wrongly" => lambda { |row|
            row["changes"].select { |one| one["right"] == false }.map { |one| one["constraints"] }.join("; ")
          }
        }.freeze

        private

        def applications = rows("choice")
        def good = applications.select { |row| row["times"] && row["times"] <= MOST_TIMES }
        def changes = applications.flat_map { |row| row["changes"] }
        def claims = changes.reject { |change| change["state"] == "unmeasured" }
      end
    end

    add Choice::Table
  end
end
