# frozen_string_literal: true

require_relative "../answer"
require_relative "../engine"
require_relative "../report"
require_relative "../statistics"
require_relative "../values"
require_relative "blocks"
require_relative "command_line"
require_relative "columns"
require_relative "leader"

module Tiercel
  module Lab
    module Tables
      # The report of a run, made from its results alone. The View of a table has a {#title} and a {#sentence}, and
      # fills the document; this class has the parts that all reports share.
      #
      # @abstract Subclasses implement {#title}, {#sentence} and {#fill}.
      class View
        include Blocks
        include Columns

        Finding = Report::Document::Finding
        MEDIA = { "process" => "in-process" }.freeze

        class << self
          # @param titles [Regexp] titles of the tables that an article contains; `lab all` shows them unfolded
          # @return [Regexp, nil]
          def article(titles = @article) = @article = titles

          # @param words [String] the limits of a quick run
          # @return [String, nil]
          def quick(words = @quick) = @quick = words
        end

        # @return [Hash{String => Object}] see {Engine::Results.load}
        attr_reader :results
        # @return [String] the command that repeats the run
        attr_reader :command

        def initialize(results, command:)
          @results = results
          @command = command
        end

        # @return [Report::Document]
        def build
          document = Report::Document.new(title:, subtitle:, command:, data: results, environment:)
          document.answer = answer&.element
          document.verdict(sentence, tone:, warnings: warnings + quick_words)
          fill(document)
          complete(document.own_tables)
          document
        end

        def title = raise(NotImplementedError)

        # @return [String] the main result
        def sentence = raise(NotImplementedError)

        # @return [Answer::Sheet, nil] the answer at the top of the report; nil for a run without constraints
        def answer
          Answer.of(results, results["constraints"], program: command.split.first) if results.key?("constraints")
        end

        # For the first screen of `lab all`.
        #
        # @return [Array<Finding>] decided results, each with the title of its table; empty if nothing was decided
        def findings = []

        # @param document [Report::Document]
        def fill(document) = raise(NotImplementedError)

        def subtitle = "#{protocol.size_words}, interleaved; #{interval_words}"

        # @param name [String] name of a recorded table
        # @yieldparam facts [Hash{String => Object}] the facts that were recorded with the rows
        # @return [String]
        def facts_in_words(name)
          facts = notes(name)
          facts.empty? ? "Interrupted before anything was measured" : yield(facts)
        end

        # @param count [Integer] number of processes or rounds
        # @return [String] the meaning of the brackets: with two processes they are a range, not a 95 % interval
        def interval_words(count = protocol.processes, noun = "process", plural = "processes")
          return "95 % intervals" if count >= Statistics::MeanInterval::LEAST_PROCESSES
          "the range of #{several(count, noun, plural)}"
        end

        # @return [Symbol] see {Report::Document#verdict}
        def tone = :plain

        # The largest noise floor of the run, from its null arms.
        #
        # @return [Float, nil] 0.02: 2 %
        def worst_floor = nulls(nil).filter_map { |cell| cell["summary"]["floor"] }.max

        # @param cells [Array<Hash>, nil] nil: all of the run
        # @return [String, nil] a note about the media of the cells, for their table
        def floor(cells = nil)
          by_medium = nulls(cells).group_by { |cell| cell["contestant"]["medium"] }.map do |medium, group|
            [MEDIA.fetch(medium, medium), Report::Format.percent(group.map { |cell| cell["summary"]["floor"] }.max)]
          end
          by_medium.size > 1 ? by_medium.map { |words| words.join(" ") }.join(", ") : by_medium.dig(0, 1)
        end

        def warnings = results.fetch("warnings", [])

        # @return [Array<String>] the limits of a quick run
        def quick_words = quick? ? [*self.class.quick] : []

        # @return [Hash{String => String}]
        def environment
          facts = results["environment"]
          servers = results.fetch("servers", []).map { |server| server.values_at("name", "version").compact.join(" ") }
          { "Machine" => Engine::Machine.sentence(facts), "Kernel" => facts["kernel"], "Pinning" => facts["pinning"],
            "Servers" => (servers.uniq.join(", ") if servers.any?), "Date" => results["run"]["started_at"],
            "Seed" => results["run"]["seed"], "Revision" => facts.dig("git", "sha")&.slice(0, 8) }.compact
        end

        def protocol = @protocol ||= Engine::Protocol.from(results["run"]["protocol"])

        def quick? = protocol.quick?

        # The cells that are rows of tables: neither null arms nor loops.
        #
        # @param facts [Hash{Symbol => String}] `value:`, `operation:`, `status:` ...
        # @return [Array<Hash>]
        def cells(**facts)
          results["cells"].select { |cell| row?(cell) && facts.all? { |name, fact| cell[name.to_s] == fact } }
        end

        def row?(cell) = %w[baseline contestant].include?(cell["role"])

        def baseline?(cell) = cell["role"] == "baseline"

        # @param name [String] name of a table, see {Engine::Recorder#table}
        # @return [Array<Hash{String => Object}>] its rows; none if there is no such table
        def rows(name) = recorded(name)["rows"]

        # @return [Hash{String => Object}] the facts recorded beside the rows
        def notes(name) = recorded(name)["notes"]

        def measured?(cell) = Engine::Outcome.measured?(cell) && !cell["summary"].nil?

        # Columns of cells.

        def name(cell) = cell["contestant"]["name"]

        # @return [Report::Cell] microseconds a call with their interval, or why there are none
        def time(cell) = measured?(cell) ? us(cell["summary"]["ns"], muted: undecided?(cell)) : missing(cell)

        # @return [Report::Cell, String] time by the baseline's
        def ratio(cell)
          return "" unless measured?(cell)
          return "baseline" if baseline?(cell)
          found = interval(cell["summary"]["ratio"]) or return "no baseline"
          noise(cell, found) || Report::Cell.interval(found, unit: "x", muted: undecided?(cell))
        end

        # @return [Report::Cell, nil] in place of a ratio that the noise floor may explain
        def noise(cell, ratio)
          floor = cell["summary"]["floor"]
          return unless floor && Engine::Protocol.noise?(ratio.estimate, floor)
          Report::Cell.missing("within #{Report::Format.percent(Engine::Protocol.noise_factor(floor) - 1.0)}")
        end

        # @return [Report::Cell, nil] by the means, which include the cost of few slow calls
        def mean_ratio(cell)
          found = interval(cell.dig("summary", "mean_ratio")) or return
          noise(cell, found) || figure(found, "x", muted: undecided?(cell))
        end

        # @return [Report::Cell, String]
        def verdict(cell)
          word, needs = cell["summary"].to_h.values_at("verdict", "needs")
          return "" unless word
          note = needs ? "`--processes #{needs}` would decide it." : slow_words(cell)
          Report::Cell.verdict(word.to_sym, note:)
        end

        def objects(cell) = Report::Cell.count(cell&.dig("exact", "allocations"))

        def bytes(cell) = cell.dig("exact", "stored_bytes")

        # @param cell [Hash] a cell or a row
        # @return [Report::Cell]
        def missing(cell) = Report::Cell.missing(Engine::Outcome.words(cell))

        def undecided?(cell) = cell.dig("summary", "verdict") == "cannot_tell"

        # @return [Float]
        def microseconds(cell) = cell["summary"]["ns"]["estimate"] / 1e3

        # @return [String] its median in words
        def spent(cell) = Report::Format.with_unit(microseconds(cell), "us")

        # Ratios with their verdicts, around 1.
        #
        # @return [Report::Charts::ForestPlot, nil] nil if there is no ratio
        def forest(title, cells, baseline:, label: method(:name))
          compared = cells.select { |cell| measured?(cell) && cell["summary"]["ratio"] }
          return if compared.empty?
          margin = band(compared.map { |cell| cell["summary"]["threshold"].to_f }.max)
          plot = Report::Charts::ForestPlot.new(title, baseline:, margin:)
          compared.each do |cell|
            plot.row(label.call(cell), interval(cell["summary"]["ratio"]), cell["summary"]["verdict"].to_sym)
          end
          plot
        end

        # Times with their intervals.
        #
        # @param reason [#call] why a cell has none
        def bars(title, cells, label: method(:name), reason: ->(cell) { cell["reason"].to_s }, **options)
          chart = Report::Charts::BarChart.new(title, unit: "us", **options)
          cells.each do |cell|
            next chart.missing(label.call(cell), reason.call(cell)) unless measured?(cell)
            chart.row(label.call(cell), interval(cell["summary"]["ns"], 1e-3), muted: undecided?(cell))
          end
          chart
        end

        # The leader of the measured cells whose stores keep entries: by ratios if the cells were interleaved, otherwise
        # by times.
        #
        # @return [Leader] compares the cells
        def leader(cells) = told(cells.select { |cell| measured?(cell) && cell["contestant"]["keeps"] != false })

        # The leader of measured cells, including stores that keep no entries.
        #
        # @return [Leader] compares the cells
        def told(cells)
          interleaved = cells.map { |cell| cell["comparison"] }.uniq.one? &&
                        cells.all? { |cell| baseline?(cell) || cell["summary"]["ratio"] }
          Leader.new(cells.to_h { |cell| [cell, interleaved ? to_baseline(cell) : interval(cell["summary"]["ns"])] },
                     margin: cells.to_h { |cell| [cell, margin(cell)] }, equality: protocol.equality)
        end

        # @param hash [Hash, nil] "estimate", "low", "high"
        # @return [Statistics::Interval, nil]
        def interval(hash, factor = 1.0)
          hash && Statistics::Interval.new(*hash.values_at("estimate", "low", "high").map { |number| number * factor })
        end

        # @param ns [Hash] an interval of nanoseconds
        def us(ns, muted: false) = Report::Cell.interval(interval(ns, 1e-3), unit: "us", muted:)

        # @param share [Float] 0.02: 2 % to either side of 1
        def band(share) = Statistics::Interval.new(1.0, 1.0 / (1.0 + share), 1.0 + share)

        def title_of(value) = Values.known?(value) ? Values.fetch(value).title : value

        # @return [String] the command that repeats the tables of one value
        def command_for(value)
          named = ["--value", value] if Values.known?(value)
          [*command.split.take(2), *named, *CommandLine.shared(results)].join(" ")
        end

        private

        # Adds a command to every table, and the noise floor to the first table if no table has one.
        def complete(tables)
          tables.each { |table| table.command ||= command }
          tables.first.floor ||= floor if tables.any? && tables.none?(&:floor)
        end

        def nulls(cells)
          comparisons = cells&.map { |cell| cell["comparison"] }
          results["cells"].select do |cell|
            cell["role"] == "null" && cell.dig("summary", "floor") &&
              (!cells || comparisons.include?(cell["comparison"]))
          end
        end

        # If mean and median disagree, the interval covers both.
        def to_baseline(cell)
          median, mean = cell["summary"].values_at("ratio", "mean_ratio").map { |found| interval(found) }
          return median || Statistics::Interval.new(1.0, 1.0, 1.0) unless cell["summary"]["slow"]
          Statistics::Interval.new(mean.estimate, [median.low, mean.low].min, [median.high, mean.high].max)
        end

        def margin(cell)
          floor = cell["summary"]["floor"].to_f
          [cell["summary"]["threshold"].to_f, Engine::Protocol.noise_factor(floor) - 1.0].max.nonzero? ||
            Engine::Protocol::MARGINS.fetch(cell["contestant"].fetch("medium", "process").to_sym)
        end

        def recorded(name) = results["tables"].find { |table| table["name"] == name } || { "rows" => [], "notes" => {} }
      end
    end
  end
end
