# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # Finds the fastest and the slowest of several results, and compares two results. All sentences and marks of the
    # lab use this class. Two results differ if the widest quotient of their intervals lies outside the margin. The
    # intervals are times, or ratios to one baseline.
    #
    #   leader = Leader.new({ "memory_store" => interval, "tiercel" => interval }, margin: 0.02)
    #   leader.clear?       # => true
    #   leader.to_s         # => "tiercel is the fastest"
    class Leader
      # Maximum number of names in a sentence about results that do not differ.
      NAMED = 3

      # @return [Object, nil] the first of {#ahead}
      attr_reader :first
      # @return [Array<Object>] the candidates for the fastest, in the order given
      attr_reader :ahead
      # @return [Array<Object>] the candidates for the slowest, in the order given
      attr_reader :behind

      # @param intervals [Hash{Object => Statistics::Interval}] less is better
      # @param margin [Float, Hash{Object => Float}] see {Statistics::Verdict}. With a margin for each result, the
      #   larger margin of the two compared results counts, so that a third, noisy result has no effect
      # @param equality [Boolean] whether two results may be called the same; false for a quick run
      def initialize(intervals, margin:, equality: true)
        @intervals = intervals
        @margin = margin
        @equality = equality
        least, most = intervals.minmax_by { |_name, interval| interval.estimate }.map { |name, _interval| name }
        @ahead = intervals.keys.select { |name| name == least || verdict(least, name) != :faster }
        @behind = intervals.keys.select { |name| name == most || verdict(most, name) != :slower }
        @first = @ahead.first
      end

      # @return [Boolean] whether one is faster than all others
      def clear? = ahead.one?

      # @param one [Object]
      # @param other [Object]
      # @return [Symbol] verdict on one time divided by the other, see {Statistics::Verdict}
      def verdict(one, other)
        margin = @margin.is_a?(Hash) ? @margin.values_at(one, other).max : @margin
        Statistics::Verdict.of(quotient(one, other), margin:, equality: @equality)
      end

      # @param what [String] the first place: "the fastest"
      # @yieldparam name [Object]
      # @yieldreturn [String] how it is called in the sentence
      # @return [String] a sentence without its full stop
      def to_s(what = "the fastest", &)
        return "nobody is #{what}" if ahead.empty?
        return "#{words(&)} is #{what}" if clear?
        "which is #{what} cannot be told (#{words(&)})"
      end

      # @yieldparam name [Object]
      # @return [String] the leader, or the candidates
      def words(&) = listed(ahead, "or", &)

      # @yieldparam name [Object]
      # @yieldreturn [String] how it is called in the sentence, with its figure
      # @return [String] the fastest and the slowest: "from a (1 us) to b (2 us)"; candidates that cannot be told
      #   apart are listed
      def span(&)
        return words(&) if @intervals.one?
        return "#{listed(ahead, "and", &)}, which cannot be told apart" if ahead.size == @intervals.size
        "from #{words(&)} to #{listed(behind, "or", &)}"
      end

      # @param one [Object]
      # @param other [Object]
      # @param called [String] the other
      # @return [String] "2.00x as fast as the other", or "2.00x the time of the other"
      def compared(one, other, called)
        times = quotient(one, other).estimate
        case verdict(one, other)
        when :faster then "#{Report::Format.number(1.0 / times)}x as fast as #{called}"
        when :slower then "#{Report::Format.number(times)}x the time of #{called}"
        when :same then "the same as #{called}"
        else "cannot be told from #{called}"
        end
      end

      private

      def listed(names, conjunction)
        named = names.first(NAMED).map { |name| block_given? ? yield(name) : name.to_s }
        more = names.size - named.size
        named << "#{more} more" if more.positive?
        named.size > 1 ? "#{named[..-2].join(", ")} #{conjunction} #{named.last}" : named.first
      end

      def quotient(one, other) = @intervals.fetch(one).over(@intervals.fetch(other))
    end

    # The words of a run's command line that another command repeats.
    module CommandLine
      FLAG = "--quick"
      # Options that the command of a single table repeats.
      TABLE = [FLAG, *%w[--seed --data --require --url]].freeze
      # Options that the command of another answer repeats.
      ANSWER = %w[--data --require --url --now --profile].freeze

      module_function

      # @param results [Hash{String => Object}]
      # @param names [Array<String>] of options
      # @return [Array<String>] quoted for a shell
      def shared(results, names = TABLE)
        arguments = results["run"]["arguments"]
        arguments.each_with_index.flat_map { |word, index|
          name, joined = word.split("=", 2)
          next [] unless names.include?(name)
          [word, *(arguments[index + 1] unless joined || name == FLAG)]
        }.map { |word| quote(word) }
      end

      # @param word [String]
      # @return [String] as a shell takes it, in the quotes that people use
      def quote(word)
        return word if word.match?(%r{\A[\w.,:@/=+-]+\z})
        word.include?("'") ? Shellwords.escape(word) : "'#{word}'"
      end
    end

    # Tables and charts that a {View} declares. A column of a table is one of
    #
    # - a String: a fact of the row,
    # - a Symbol: a method of the row, or a method of the view that takes the row,
    # - a Proc that takes the row; it runs in the view,
    # - an Array of one of these and a unit, for numbers and intervals.
    module Columns
      # A table with a column for each header. A row without figures shows its labels and then the reason.
      #
      # @param rows [Array<Hash, Object>]
      # @param columns [Hash{String => Object}, Array<Array(String, Object)>] see {Columns}
      # @param labels [Integer, nil] leading columns of a row without figures; nil: every row has figures
      # @param always [Array<String>] headers of other columns that a row without figures fills
      # @param reason [#call] takes a row and returns why it has no figures, or nil
      # @param options [Hash] see {Report::Table#initialize}
      # @return [Report::Table]
      def columns_table(title, rows, columns, labels: nil, always: [], reason: method(:failure), **options)
        table = Report::Table.new(title, header: columns.map(&:first), **{ command:, **options })
        rows.each do |row|
          failed = reason.call(row) if labels
          table.row(*columns.each_with_index.map do |(header, column), index|
            next failed if failed && index == labels
            failed && index > labels && !always.include?(header) ? "" : filled(column, row)
          end)
        end
        table
      end

      # Builds such a table for cells, with their noise floor.
      #
      # @param cells [Array<Hash>]
      # @return [Report::Table]
      def cell_table(title, cells, columns, labels: 1, **options)
        columns_table(title, cells, columns, labels:, reason: ->(cell) { missing(cell) unless measured?(cell) },
                                             floor: floor(cells), **options)
      end

      # @param value [Object]
      # @param unit [String, nil]
      # @return [Object] a cell for a number or an interval; any other value as it is
      def figure(value, unit = nil, **options)
        case value
        when Numeric then Report::Cell.number(value, unit:, **options)
        when Statistics::Interval then Report::Cell.interval(value, unit:, **options)
        else value
        end
      end

      # @param row [Hash, #failed]
      # @return [Report::Cell, nil] why a row has no figures
      def failure(row)
        failed = row.is_a?(Hash) ? (row unless Engine::Outcome.measured?(row)) : row.failed
        missing(failed) if failed
      end

      # @param values [Array<Numeric>]
      # @return [Statistics::Interval, Numeric, nil] the median with the least and the most; a single value itself
      def spread(values)
        return values.first if values.size < 2
        Statistics::Interval.new(Statistics.median(values.map(&:to_f)), *values.minmax)
      end

      # @param values [Array<Numeric>] one of each process
      # @return [Statistics::Interval] interval of the processes' median
      def median_of_processes(values) = Statistics::MedianInterval.of_times(values.map { |value| [value] })

      # @param series [Hash{String => Array}] points by the name of their line
      # @param options [Hash] see {Report::Charts::LineChart#initialize}
      # @return [Report::Charts::LineChart]
      def line_chart(title, series, **options)
        Report::Charts::LineChart.new(title, **{ command:, **options }).tap do |chart|
          series.each { |name, points| chart.series(name, points) }
        end
      end

      def several(...) = Report::Format.several(...)

      private

      def filled(column, row)
        case column
        when Array then figure(filled(column.first, row), column.last)
        when String then row[column]
        when Symbol then row.is_a?(Hash) || !row.respond_to?(column) ? send(column, row) : row.public_send(column)
        else instance_exec(row, &column)
        end
      end
    end

    # The report of a run, made from its results alone. The View of a table has a {#title} and a {#sentence}, and
    # fills the document; this class has the parts that all reports share.
    #
    # @abstract Subclasses implement {#title}, {#sentence} and {#fill}.
    class View
      include Columns

      MEDIA = { "process" => "in-process" }.freeze

      class << self
        # @param titles [Regexp] titles of the tables that an article contains; `lab all` shows them unfolded, and those
        #   that print the article's figures
        # @return [Regexp, nil]
        def article(titles = nil) = titles ? @article = Regexp.union(titles, /beside ours|the article says/) : @article

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
        return unless results.key?("constraints")
        program = [command.split.first, *CommandLine.shared(results, CommandLine::ANSWER)].join(" ")
        Answer.of(results, results["constraints"], program:)
      end

      # @param document [Report::Document]
      def fill(document) = raise(NotImplementedError)

      def subtitle = "#{protocol.size_words}, interleaved; #{interval_words}"

      # @return [String] the meaning of the brackets: with two processes they are a range, not a 95 % interval
      def interval_words
        return "95 % intervals" if protocol.processes >= Statistics::MeanInterval::LEAST_PROCESSES
        "the range of #{several(protocol.processes, "process", "processes")}"
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
        noise = Report::Format.percent(Engine::Protocol.noise_factor(floor) - 1.0)
        Report::Cell.missing("within the noise of #{noise}")
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

      # @return [String, nil] the blocks that part the mean from the median
      def slow_words(cell)
        slow = cell.dig("summary", "slow") or return
        "The mean is #{mean_ratio(cell)}: #{slow["blocks"]} of #{slow["of"]} blocks are slow, by " \
          "#{Report::Format.with_unit(slow["ns"] / 1e6, "ms")} each, about once in " \
          "#{Report::Format.number(slow["calls"].round(-2), digits: 0)} calls."
      end

      def objects(cell) = Report::Cell.count(cell&.dig("exact", "allocations"))

      def bytes(cell) = cell.dig("exact", "stored_bytes")

      # @param cell [Hash] a cell or a row
      # @return [Report::Cell]
      def missing(cell) = Report::Cell.missing(Engine::Outcome.words(cell))

      def undecided?(cell) = cell.dig("summary", "verdict") == "cannot_tell"

      # @return [Report::Cell] calls a second, garbage collection included
      def rate(cell)
        return cell && missing(cell) unless cell && measured?(cell)
        figure(interval(cell["summary"]["ns"]).inverse.map { |calls| calls * 1e9 }, digits: 0, muted: undecided?(cell))
      end

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

      # The leader of the measured cells whose stores keep entries: by ratios if the cells were interleaved, otherwise
      # by times.
      #
      # @return [Leader] compares the cells
      def leader(cells)
        cells = cells.select { |cell| measured?(cell) && cell["contestant"]["keeps"] != false }
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

      # A chart of times by size, of the cells whose value is HTML.
      #
      # @yieldparam cell [Hash]
      # @yieldreturn [String] name of its series
      # @return [Report::Charts::LineChart, nil] nil if no series has two sizes
      def size_chart(title, cells, &)
        html = cells.select { |cell| measured?(cell) && cell["value"].match?(/\Ahtml-\d+[km]?b\z/) }
        series = html.group_by(&).transform_values do |of_store|
          of_store.map do |cell|
            size = Values::SizedHTML.parse(cell["value"].delete_prefix("html-"))
            [size.approximate_bytes, *interval(cell["summary"]["ns"], 1e-3).to_h.values]
          end
        end
        return if series.values.none? { |points| points.size > 1 }
        line_chart(title, series, x: "bytes", y: "us", x_scale: :log, y_scale: :log)
      end

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
