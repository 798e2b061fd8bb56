# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Compare
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
      end
    end
  end
end
