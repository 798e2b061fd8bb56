# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The options of tables, and the values that the user gave.
    module Options
      private

      def store_option(parser, default:)
        parser.on("--store STORE", "repeatable; default: #{default}") do |text|
          (@stores ||= []) << Contestants.parse(text)
        end
      end

      def value_option(parser, default: nil)
        parser.on("--value A,B", Array, "see `help values`#{"; default: #{default}" if default}") do |names|
          (@values ||= []).concat(names.map { |name| Values.fetch(name) })
        end
      end

      def parse_all(texts) = texts.map { |text| Contestants.parse(text) }

      # @param standard [Array<String>] the default names
      # @return [Array<Value>] the user's files and the named values
      def chosen_values(standard, parse: false)
        return [Values::Files.new(directory: settings.data, parse:), *@values] if settings.data
        @values || standard.map { |name| Values.fetch(name) }
      end

      # Declares an option that sets one member of the table's design. An option that ends with `A,B` takes a list.
      #
      #   fact parser, "--workers A,B", "how many (1,2,4,8)", :counts, :count
      #
      # @param name [Symbol] the member's name
      # @param kind [Symbol] :number, :zero (a number that may be 0), :count, :workers or :size
      def fact(parser, option, words, name, kind)
        flag = option[/\A\S+/]
        list = option.end_with?("A,B")
        parser.on(option, *(Array if list), words) do |given|
          values = Array(given).map { |text| cast(text, flag, kind) }
          facts_given[name] = list ? values : values.first
        end
      end

      # An option that names some of a table's own stores or pages.
      #
      # @param all [Hash, Array<String>]
      def names(parser, option, all, name)
        known = all.respond_to?(:keys) ? all.keys : all
        parser.on("#{option} A,B", Array, "of #{known.join(", ")}") do |given|
          unknown = given.find { |one| !known.include?(one) }
          raise UsageError, Catalogue.unknown("#{option}:", unknown, known) if unknown
          facts_given[name] = [*facts_given[name], *given].uniq
        end
      end

      # @return [Hash{Symbol => Object}] the user's values, by the name of the design's member
      def facts_given = @facts_given ||= {}

      # @return [Data] the quick or the full design, with the user's values
      def designed(design, **more)
        (settings.quick ? design::QUICK : design::FULL).with(**facts_given, **more.compact)
      end

      def cast(text, flag, kind)
        return Values::SizedHTML.parse(text).approximate_bytes if kind == :size
        found = number(text, flag, zero: kind == :zero)
        return found unless %i[count workers].include?(kind)
        raise UsageError, "#{flag} #{text}: expected a whole number" unless found == found.floor
        kind == :workers ? Answer::Constraints.count(:workers, found.to_i) : found.to_i
      end

      # @param zero [Boolean] whether it may be 0
      # @return [Float]
      def number(text, option, zero: false)
        number = Float(text, exception: false)
        return number if number&.finite? && (zero ? number >= 0 : number.positive?)
        raise UsageError, "#{option} #{text}: expected a number #{zero ? ">=" : ">"} 0"
      end

      # Declares an option that takes names of a catalogue.
      #
      # @param catalogue [Catalogue]
      # @param words [String] description, for help
      def things(parser, option, catalogue, name, words)
        parser.on("#{option} A,B", Array, words) do |given|
          facts_given[name] = [*facts_given[name], *given.map { |one| catalogue.fetch(one) }].uniq
        end
      end
    end

    # A table of the lab: a file of `tables/`. The `Table` measures, and its `View` renders:
    #
    # 1. {#plan} returns the cells to measure (none if the table has no cells).
    # 2. {#take} measures the cells and other figures. `run.watch` shows progress and handles Ctrl-C.
    #    `run.table(name, rows)` stores rows that are not cells.
    # 3. The `View` reads the results file of a run and builds a document.
    #
    #   module Tables
    #     module Sizes
    #       class Table < Tables::Table
    #         called "sizes", "What a hit costs by the size of the value."
    #         example "sizes --quick"
    #         takes :cells, :data
    #         full blocks: 6, budget_seconds: 210
    #
    #         def plan = [Engine::Comparison.of(...), ...]
    #       end
    #
    #       class View < Tables::View
    #         def title = "What a hit costs by size"
    #         def sentence = ...
    #         def fill(document) = document.section("Hits") { |section| ... }
    #       end
    #     end
    #   end
    #
    # tiercel-lab/docs/lab.md adds one, step by step.
    class Table
      include Options

      # Shared options that commands may take; see {CLI::Settings}.
      TAKEN = { cells: %i[budget processes require] }.freeze
      # In options, serializers and compressors have no such prefix.
      OPTION_PREFIX = /\A(serializer|compressor):/
      # Exit codes by name.
      CODES = { ok: 0, does_not_hold: 1, undecided: 3, wrong: 4 }.freeze

      class << self
        # @return [String] one line for the list of commands
        attr_reader :summary
        # @return [Integer, nil] its place in `lab all`
        attr_reader :rank

        # For {Catalogue}.
        def name = @table_name || super

        # @param name [String] name of its command
        # @param summary [String]
        def called(name, summary)
          @table_name = name
          @summary = summary
        end

        # @param lines [Array<String>] command lines without the program, for help
        def example(*lines) = examples.concat(lines)

        def examples = @examples ||= []

        # @param names [Array<Symbol>] shared options of the command: :quick, :seed, :data, :url, :constraints,
        #   :require, :budget, :processes, or :cells for the last three; the command refuses the others
        def takes(*names) = @taken = names.flat_map { |name| TAKEN.fetch(name, [name]) }

        def taken = @taken || superclass.taken

        # The place of the table in `lab all`, and its arguments there.
        #
        # @param weight [Numeric] a factor of its planned time when a quick run shares its time among the tables
        def in_all(rank, arguments: [], weight: 1)
          @rank = rank
          @facts_in_all = { arguments:, weight: }
        end

        # @return [Hash{Symbol => Object}] arguments and weight of a table in `lab all`
        attr_reader :facts_in_all

        # Changes the lab's own protocol for this table.
        #
        # @param changes [Hash] changed members of {Engine::Protocol}
        def full(**changes) = @full = Engine::Protocol::FULL.with(**changes)
        def quick(**changes) = @quick = Engine::Protocol::QUICK.with(**changes)

        def protocol(quick) = quick ? @quick || Engine::Protocol::QUICK : @full || Engine::Protocol::FULL

        # @param results [Hash{String => Object}] see {Engine::Results.load}
        # @param command [String] the command that repeats the run
        # @return [View] the view in the table's module
        def view(results, command:)
          folder = Object.const_get(to_s[/\A[A-Z].*(?=::)/] || "Object")
          return superclass.view(results, command:) unless folder.const_defined?(:View, false)
          folder::View.new(results, command:)
        end

        # @return [Report::Document]
        def report(results, command:) = view(results, command:).build

        # @param results [Hash{String => Object}] results of a completed run
        # @return [Integer] the exit code, from the kept results alone
        def exit_code(results) = new(nil, results:).exit_code

        # @return [Class<Table>] the table with this command name that the words before the first option choose
        def variant(_words) = self

        # @return [String, nil] the arguments besides options, for help
        def usage = nil
      end

      @taken = %i[quick seed budget processes require]

      # @return [CLI::Settings] the user's options
      attr_reader :settings
      # @return [Engine::Run]
      attr_reader :run

      # @param results [Hash{String => Object}, nil] results of an earlier run
      def initialize(settings, results: nil)
        @settings = settings
        @results = results
        @measurements = []
      end

      # Adds the table's own options.
      #
      # @param parser [OptionParser]
      def options(parser); end

      # @param rest [Array<String>] arguments that are not options
      # @raise [UsageError] if there are any and the table takes none
      def accept(rest)
        raise UsageError, "#{rest.first.inspect}: #{self.class.name} takes options only" if rest.any?
      end

      # @return [Array<Engine::Comparison>] in the order they are measured
      def plan = []

      def protocol = self.class.protocol(settings.quick)

      # @return [Data, nil] the design of the table's {Engine::Trial}
      def design = nil

      # @return [Float, nil] seconds that the plan and the design take; nil if there is neither
      def expected_seconds
        comparisons = plan
        cells = Engine::Measurement.expected_seconds(comparisons, settings.bounded(protocol)) if comparisons.any?
        [cells, design&.expected_seconds].compact.reduce(:+)
      end

      # @return [String, nil] the measurements besides cells
      def plan_in_words = nil

      # Measures everything.
      #
      # @param run [Engine::Run]
      # @return [Hash{String => Object}] the results
      # @raise [CannotRun] if there is nothing to measure
      def measure(run)
        @run = run
        take(plan)
        run.finish({ "warnings" => warnings, **constraints }.merge(facts))
        @results = run.results
      end

      # @return [Hash{String => Object}] the results, after {#measure}
      attr_reader :results

      # @param comparisons [Array<Engine::Comparison>] the result of {#plan}
      def take(comparisons) = cells(comparisons)

      # @return [Array<String>] reservations about the figures
      def warnings = run.warnings(@measurements)

      # @return [Hash{String => Object}] further facts for the results
      def facts = {}

      # The exit code by the statuses of cells and recorded rows. Wrong results come before cells that could not run. A
      # cell that could not run counts only if the user named its store.
      #
      # @return [Integer]
      def exit_code
        rows = [*results["cells"], *recorded_rows]
        return CODES[:wrong] if rows.any? { |row| fault?(row) }
        CODES[rows.any? { |row| asked_in_vain?(row) } ? :undecided : :ok]
      end

      private

      # A report with constraints opens with an answer.
      def constraints
        return {} unless self.class.taken.include?(:constraints)
        { "constraints" => settings.constraints.record, "page" => settings.page.record, "now" => settings.now }
      end

      def fault?(row) = Engine::Outcome::FAULTS.include?(row["status"])

      # Returns whether the user named the store, and it could not run. Stores of the default list may be missing on a
      # machine.
      def asked_in_vain?(row)
        return false unless row["status"] == Engine::Outcome::CANNOT_RUN
        named = results["run"]["arguments"].flat_map { |word| [word, *word.sub(/\A--\w+=/, "").split(",")] }
        text = row["contestant"].is_a?(Hash) ? row["contestant"]["text"] : row["contestant"]
        [text, text&.sub(OPTION_PREFIX, ""), row["store"]].compact.intersect?(named)
      end

      def recorded_rows = results["tables"].flat_map { |table| table["rows"] }

      # Measures cells and keeps them.
      def cells(comparisons, **options)
        @measurements << run.measure(comparisons, protocol:, **options)
        @measurements.last
      end

      # @param type [Class<Engine::Trial>]
      # @return [Engine::Trial] the trial of the design, after its run
      def tried(type)
        trial = type.new(design, seed: settings.seed, requires: settings.requires)
        run.try(trial, design.expected_seconds)
        trial
      end

      # @param values [Array<Value>]
      # @param operations [Array<Operations::Operation>]
      # @param options [Hash] see {Engine::Comparison.of}
      # @return [Array<Engine::Comparison>] a comparison for each value and each suitable operation
      def comparisons_of(values, operations, contestants, **options)
        values.uniq(&:name).product(operations).reject { |value, operation| operation.unsuitable(value) }
              .map { |value, operation| Engine::Comparison.of(value:, operation:, contestants:, **options) }
      end
    end
  end
end
