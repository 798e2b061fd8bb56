# frozen_string_literal: true

require "stringio"
require_relative "../comparison"
require_relative "../documents/sides"
require_relative "../profile/trial"
require_relative "../sides"
require_relative "../sides/flame_files"
require_relative "../sides/saved_baseline"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # `compare A B`: two sides against each other. Without sides it is {Compare}, which is asked first.
      class CompareSides < TableCommand
        called "compare", "Compares two revisions, two versions of a gem, or two stores: compare A B."
        example "compare main .", "compare v0.1.0 HEAD --store tiercel:memory: --op read,fetch",
                "compare dalli@5.0.2 dalli@5.3.1",
                "compare tiercel:shared:#compress=false tiercel:shared: --value html-822kb",
                "compare . --baseline results/kept.jsonl", "compare main . --markdown summary.md"

        OPERATIONS = %w[read fetch write].freeze
        VALUES = %w[string-100b html-2kb rows-50].freeze
        QUICK_OPERATIONS = %w[read write].freeze
        QUICK_VALUES = %w[html-2kb].freeze
        # For which each side is watched.
        PROFILE_SECONDS = 3.0
        QUICK_PROFILE_SECONDS = 1.0

        class << self
          def document(results, command:) = Documents::Sides.new(results, command:).build

          # @param arguments [Array<String>]
          # @return [Boolean] whether there are sides among them
          def meant?(arguments) = new(out: StringIO.new, err: StringIO.new, program: "").sides_in?(arguments)
        end

        # @param arguments [Array<String>]
        # @return [Boolean]
        def sides_in?(arguments)
          @arguments = arguments
          parser.parse(arguments).any?
        rescue OptionParser::ParseError, UsageError
          false
        end

        def options(parser)
          parser.separator("    A, B: a revision (\".\": the checkout as it is), GEM@VERSION, or a store " \
                           "TYPE[:PLACE][#OPTION=VALUE,...]")
          parser.on("--store STORE", "what revisions and gems are measured with; repeatable") do |text|
            (@stores ||= []) << text
          end
          parser.on("--op A,B", Array, "of #{Operations.names.join(", ")}") { |names| @operations = names }
          parser.on("--value A,B", Array, "of #{Lab::Values.names.join(", ")}") { |names| @values = names }
          parser.on("--baseline FILE", "in place of A: an earlier run's file (not interleaved)") { |file| @file = file }
          parser.on("--same", "A and B may be the same") { @same = true }
          parser.on("--[no-]flames", "flame graphs of both once all is measured (yes with --html, --markdown)") do |on|
            @flames = on
          end
          parser.on("--repository DIR", "checkout that revisions are of") { |folder| @repository = folder }
        end

        def accept(rest)
          expected = @file ? 1 : 2
          if rest.size != expected
            raise UsageError, "compare #{rest.join(" ")}: expected two sides, or one and --baseline FILE"
          end
          @texts = rest
        end

        # A side that cannot be built leaves nothing to compare.
        def run
          super
        rescue CannotRun => e
          err.puts "#{@program}: #{e.message}"
          ExitCodes::UNDECIDED
        end

        def plan
          @sides = @texts.map { |text| Sides.parse(text, repository:) }
          Sides.check(@sides, same: @same) unless @file
          @saved = @file && Sides::SavedBaseline.new(@file)
          return [] if settings.plan && !prepared?
          keys.map { |store, value, operation| comparison(store, value_of(value), Operations.fetch(operation)) }
        end

        def take(comparisons)
          session.start
          session.recorder.table("sides", @sides.map(&:describe), baseline: @saved&.path)
          super
          return against_saved if @saved
          confirm(comparisons)
          draw_flames if flames? && !session.interrupted?
        end

        def warnings
          @saved ? super + @saved.differences(session.results["environment"]) : super
        end

        # A regression is one that a second, fresh pass has found again; a quick run gates nothing.
        def exit_code
          wrong = super
          return wrong unless wrong == ExitCodes::OK
          return ExitCodes::UNDECIDED if results["cells"].any? { |cell| cell["status"] == "cannot run" }
          document_of = Documents::Sides.new(results, command: "")
          document_of.confirmed.any? ? ExitCodes::DOES_NOT_HOLD : ExitCodes::OK
        end

        private

        def repository = @repository || Sides::Revision.repository

        # A plan copies and compiles nothing.
        def prepared? = @sides.none?(Sides::Revision)

        def plan_in_words
          "#{keys.size} comparisons of #{@texts.join(" and ")}: #{keys.map { |key| key.join(" ") }.join("; ")}"
        end

        # @return [Array<Array(String, String, String)>] store, value, operation
        def keys
          return saved_keys if @saved
          standard = settings.quick ? QUICK_VALUES : VALUES
          values = settings.data ? [own_value.name, *@values] : @values || standard
          stores.product(values, operations || (settings.quick ? QUICK_OPERATIONS : OPERATIONS))
        end

        def saved_keys
          @saved.cells_of(stores).select do |_store, value, operation|
            (@values.nil? || @values.include?(value)) && (operations.nil? || operations.include?(operation)) &&
              Lab::Values.known?(value)
          end
        end

        def own_value = @own_value ||= Lab::Values::Files.new(directory: settings.data)

        def value_of(name) = settings.data && name == own_value.name ? own_value : Lab::Values.fetch(name)

        def operations = @operations

        def stores = @sides.first.is_a?(Sides::OptionSet) ? @sides.last.stores : @stores || @sides.first.stores

        # Sides with a bundle are in workers of their own, and so is the null arm: processes differ more than arms do.
        def comparison(store, value, operation)
          @sides.each { |side| side.prepare(progress: Progress.new(err)) }
          first, second = @sides.map { |side| side.contestant(store) }
          second = Contestants.parse("again=#{second.text}") if second && second.name == first.name
          if second && @sides.first.is_a?(Sides::OptionSet)
            return Comparison.of(value:, operation:, contestants: [first, second], baseline: first)
          end
          again = @sides.first.contestant(store, again: true)
          rows = [[first, :baseline, nil], *([[second, :contestant, nil]] if second), [again, :null, 0]]
          Comparison.new(value:, arms: rows.each_with_index.map do |(contestant, role, twin_of), id|
            ArmSpec.new(id:, contestant:, operation:, role:, twin_of:)
          end)
        end

        # Says what takes time before there is a session.
        Progress = Struct.new(:err) do
          def say(text) = err.puts(text)
        end
        private_constant :Progress

        def confirm(comparisons)
          return if settings.quick || session.interrupted?
          slower = @measurement.cells.select { |cell| cell.arm.role == :contestant && cell.summary&.verdict == :slower }
          suspects = comparisons & slower.map(&:comparison)
          session.measure(suspects) if suspects.any?
        end

        def flames? = @flames.nil? ? settings.reports.key?(:markdown) || settings.reports.key?(:html) : @flames

        # Of the cell that differs most.
        def draw_flames
          cells = @measurement.cells.select { |cell| cell.arm.role == :contestant && cell.summary&.ratio }
          cell = cells.max_by { |one| difference(one.summary) } or return
          rows = profiles(cell)
          return unless rows.size == 2
          session.recorder.table("profiles", rows, seconds: profile_seconds)
          return unless rows.all? { |row| row["status"] == "measured" && row["folded"].any? }
          names = Documents::Sides.names_of(@sides.map(&:describe))
          session.recorder.table("flame graphs", flame_files.write(rows, names))
        end

        # What was decided counts more than what was not.
        def difference(summary) = [%i[slower faster].count(summary.verdict), Math.log(summary.ratio.estimate).abs]

        def profiles(cell)
          contestants = cell.comparison.arms.select(&:row?).map(&:contestant)
          trial = Lab::Profile::Trial.new(contestants, operation: cell.arm.operation, value: cell.comparison.value,
                                                       seconds: profile_seconds, seed: settings.seed,
                                                       requires: settings.requires, stem: kept)
          rows = []
          session.watch(trial.expected_seconds) { |progress| trial.run(progress) { |row| rows << row } }
          JSON.parse(JSON.generate(rows))
        end

        def profile_seconds = settings.quick ? QUICK_PROFILE_SECONDS : PROFILE_SECONDS

        def flame_files
          file = settings.reports.values_at(:markdown, :html).compact.find { |path| path != Settings::OUTPUT }
          Sides::FlameFiles.new(report: file, kept:)
        end

        def kept = session.recorder.path.delete_suffix(".jsonl")

        def against_saved
          records = @measurement.cells.select { |cell| cell.arm.row? }.map { |cell| Results::CellRecord.of(cell) }
          records = JSON.parse(JSON.generate(records))
          session.recorder.table("baseline", records.filter_map { |record| @saved.against(record) }, path: @saved.path)
        end
      end
    end
  end
end
