# frozen_string_literal: true

module Tiercel::Lab
  # Results over time: a series for each cell, the steps in it, and alerts.
  module History
    # One figure of one run.
    #
    # @!attribute [r] at
    #   @return [Time] time of the run
    # @!attribute [r] revision
    #   @return [String, nil] revision of the measured code
    # @!attribute [r] value
    #   @return [Float]
    # @!attribute [r] low
    #   @return [Float, nil] bounds of its interval; nil if it has none
    # @!attribute [r] tools
    #   @return [Hash{String => String}] versions of everything that influences figures besides the code
    Point = Data.define(:at, :revision, :value, :low, :high, :tools)

    # The values of one figure of a cell on one machine, in the order of time.
    #
    # @!attribute [r] machine
    #   @return [String]
    # @!attribute [r] cell
    #   @return [String]
    # @!attribute [r] figure
    #   @return [String] "time by memory_store", "objects"
    # @!attribute [r] unit
    #   @return [String] "x", "us", or "" for counts
    # @!attribute [r] exact
    #   @return [Boolean] whether it is a count, so that every change is a step
    Series = Data.define(:machine, :cell, :figure, :unit, :exact, :points) do
      def label = "#{cell}: #{figure}"

      # Returns whether the series is a baseline's time, which no revision of this project changes.
      def reference? = unit == "us"
    end

    # Reads the results of a folder as series. The class reads results of all versions of the lab; points of older
    # versions lack figures that those versions did not record.
    class Archive
      PATTERN = "**/*.{json,jsonl}"
      EXACT = %w[objects stored_bytes round_trips wire_bytes queries].freeze
      # Gems whose new versions may explain a step.
      TOOLS = %w[tiercel tiercel-lab activesupport].freeze

      # @return [Array<String>] files that are not results, with the reason
      attr_reader :skipped
      # @return [Integer] number of runs
      attr_reader :size

      # @param folder [String]
      # @param since [String, nil] a date (2026-10-01), or the beginning of a revision: leaves out earlier runs
      # @raise [UsageError] if the folder has no results
      def initialize(folder, since: nil)
        raise UsageError, "#{folder}: the folder does not exist" unless File.directory?(folder)
        @skipped = []
        runs = Dir.glob(PATTERN, base: folder).sort.filter_map { |file| load(folder, file) }
        raise UsageError, "#{folder}: the folder has no results of the lab (#{PATTERN})" if runs.empty?
        @runs = within(runs.sort_by { |run| at(run) }, since)
        @size = @runs.size
      end

      # @return [Array<Series>]
      def series
        @series ||= begin
          found = Hash.new { |all, key| all[key] = [] }
          @runs.each { |run| parts(run).each { |part| add(found, part, run) } }
          found.map { |key, points| Series.new(*key, points) }
        end
      end

      private

      def load(folder, file)
        results = Engine::Results.load(File.join(folder, file))
        at(results)
        results
      rescue UsageError, ArgumentError, TypeError => e
        @skipped << "#{file}: #{e.message.delete_prefix("#{File.join(folder, file)}: ")}"
        nil
      end

      def at(run) = Time.parse(run["run"].fetch("started_at").to_s)

      def within(runs, since)
        return runs unless since
        kept = since.match?(/\A\d{4}-\d\d-\d\d/) ? from_date(runs, since) : from_revision(runs, since)
        return kept unless kept.nil? || kept.empty?
        raise UsageError, "--since #{since}: no run is that recent; name an earlier date or revision"
      end

      def from_date(runs, since)
        first = Time.parse("#{since}#{" UTC" unless since.match?(/[T ]/)}")
        runs.select { |run| at(run) >= first }
      rescue ArgumentError
        raise UsageError, "--since #{since}: expected a date (2026-10-01) or a revision"
      end

      def from_revision(runs, since)
        first = runs.index { |run| revision(run)&.start_with?(since) }
        first && runs.drop(first)
      end

      # Splits a run of several commands into its parts. The method leaves out comparisons of two revisions, whose
      # figures belong to neither.
      def parts(run)
        inner = run.fetch("parts", []).filter_map { |part| part["results"] if part.is_a?(Hash) }
        (inner.empty? ? [run] : inner).reject { |part| gate?(part) && table(part, "sides").size > 1 }
      end

      def add(found, part, run)
        part.fetch("cells", []).each { |cell| add_cell(found, part, run, cell) }
        counted(part).each do |(cell, metric), value|
          found[[machine(run), cell, metric, "", true]] << point(run, value)
        end
      end

      def add_cell(found, part, run, cell)
        return unless %w[baseline contestant].include?(cell["role"])
        return unless cell["status"] == "measured" && cell["summary"]
        label = label(part, cell)
        figure, unit, interval = figure_of(part, cell)
        if interval
          figures = interval.values_at("estimate", "low", "high")
          found[[machine(run), label, figure, unit, false]] << point(run, *figures)
        end
        return if gate?(part) # a gate counts in separate processes
        { "objects" => "allocations", "stored_bytes" => "stored_bytes" }.each do |metric, name|
          value = cell.dig("exact", name) or next
          found[[machine(run), label, metric, "", true]] << point(run, value)
        end
      end

      # Prefers the ratio to the baseline: a slower machine slows both, so the ratio stays.
      def figure_of(part, cell)
        ratio = cell["summary"]["ratio"]
        return ["time", "us", us(cell["summary"]["ns"])] unless cell["role"] == "contestant" && ratio
        base = part["cells"].find { |one| one["role"] == "baseline" && one["comparison"] == cell["comparison"] }
        ["time by #{base ? base["contestant"]["name"] : "the baseline"}", "x", ratio]
      end

      def us(ns) = ns&.transform_values { |value| value / 1e3 }

      # Removes the name of a gate's side.
      def label(part, cell)
        name = cell["contestant"]["name"]
        return name.delete_prefix("head: ") if gate?(part)
        [cell["operation"], cell["value"], name].join(" ")
      end

      def gate?(part) = part["run"]["command"] == "gate"

      # The figures that a gate counted for its head: the smallest of all processes.
      def counted(part)
        rows = table(part, "counted").select { |row| row["side"] == "head" && row["status"] == "measured" }
        rows.group_by { |row| row["cell"] }.flat_map { |cell, of_cell|
          EXACT.filter_map do |metric|
            least = of_cell.filter_map { |row| row[metric] }.min
            [[cell, metric], least] if least
          end
        }.to_h
      end

      def point(run, value, low = nil, high = nil)
        Point.new(at: at(run), revision: revision(run), value: value.to_f, low:, high:, tools: tools(run))
      end

      def table(part, name)
        part.fetch("tables", []).select { |one| one["name"] == name }.flat_map { |one| one["rows"] }
      end

      # The revision of the head if the run had sides, else of the repository.
      def revision(run)
        head = table(run, "sides").find { |side| side["name"] == "head" }
        head ? head["sha"] : run.dig("environment", "git", "sha")
      end

      def machine(run)
        facts = run["environment"].to_h
        "#{facts["cpu"] || "unknown CPU"}, #{facts["cores"] || "?"} cores, #{facts["arch"] || "?"}"
      end

      def tools(run)
        facts = run["environment"].to_h
        versions = facts["gems"].to_h.slice(*TOOLS)
        { "ruby" => facts["ruby"]&.slice(/\Aruby \S+/), "kernel" => facts["kernel"], **versions }.compact
      end
    end

    # A step of a series.
    #
    # @!attribute [r] index
    #   @return [Integer] index of the first point at the new level
    # @!attribute [r] change
    #   @return [Statistics::Interval] the new level divided by the old one, 1.05: 5 % more; exact for counts
    # @!attribute [r] alert
    #   @return [Boolean] whether it is an alert: a recent increase that a revision can have caused
    # @!attribute [r] reason
    #   @return [String, nil] the reason why it is no alert
    Change = Data.define(:series, :index, :change, :alert, :reason) do
      def before = series.points[index - 1]
      def after = series.points[index]

      # @return [String] the range of revisions that contains its cause
      def range = [before, after].map { |point| point.revision ? point.revision[0, 12] : "?" }.join("..")

      # @return [Array<String>] tools that changed their versions at the same point
      def tools = Changes.tools(before, after)
    end

    # Finds the steps of all series of a history. Counted figures change exactly; for measured ones
    # {Statistics::ChangePoints} decides. {ALPHA} is the probability of a step in a history without one. The series
    # share it equally (Bonferroni's inequality); with more than a hundred series, each has a hundredth of it.
    class Changes
      ALPHA = 0.002
      # With fewer runs the correlation between nights is unknown: half of all false alerts about times came before
      # this many runs.
      LEAST_RUNS = 25
      # Smaller increases are no alerts.
      LEAST = 0.02
      # A step is an alert only if it lies within this many last runs.
      RUNS = 14

      # @param one [Point]
      # @param other [Point]
      # @return [Array<String>] "ruby: 3.3.8 then, 3.4.1 now"
      def self.tools(one, other)
        (one.tools.keys & other.tools.keys).filter_map do |name|
          before, after = one.tools[name], other.tools[name]
          "#{name}: #{before} \u2192 #{after}" unless before == after
        end
      end

      # @param series [Array<Series>]
      # @param least [Float] smallest increase of an alert, 0.02: 2 %
      # @param runs [Integer] number of last runs in which an alert's step lies
      def initialize(series, least: LEAST, runs: RUNS)
        @series = series
        @least = least
        @runs = runs
      end

      # @return [Array<Change>] alerts first
      def all
        @all ||= @series.flat_map { |one| one.exact ? counted(one) : measured(one) }
                        .sort_by { |change| [change.alert ? 0 : 1, -change.after.at.to_f] }
      end

      def alerts = all.select(&:alert)

      # @param series [Series]
      # @return [Float, nil] the smallest increase (0.05: 5 %) that is found within {Statistics::ChangePoints::WITHIN}
      #   runs; nil for counts, whose changes are all found, and for short series
      def smallest(series)
        return if series.exact
        step = Statistics::ChangePoints.detectable(logs(series), alpha:)
        step && (Math.exp(step) - 1.0)
      end

      private

      def measured(series)
        steps = Statistics::ChangePoints.of(logs(series), alpha:)
        steps.map { |step| change(series, step.at, step.shift.exp) }
      end

      def logs(series) = series.points.map { |point| Math.log(point.value) }

      def alpha = [ALPHA / @series.count { |one| !one.exact }, Statistics::ChangePoints::LEAST_ALPHA].max

      # A single run with another count may have counted inexactly. The change is a step if the next run has the same
      # count, or if there is no next run.
      def counted(series)
        values = series.points.map(&:value)
        (1...values.size).filter_map do |index|
          before, now, later = values[index - 1], values[index], values[index + 1]
          next if now == before || (later && later != now)
          ratio = now / before # infinity if the count was 0 before
          change(series, index, Statistics::Interval.new(ratio, ratio, ratio))
        end
      end

      def change(series, index, interval)
        reason = reason(series, index, interval)
        Change.new(series:, index:, change: interval, alert: reason.nil?, reason:)
      end

      def reason(series, index, interval)
        before, after = series.points[index - 1], series.points[index]
        return "it is less" if interval.estimate < 1.0
        return "the baseline of other cells" if series.reference?
        return "fewer than #{LEAST_RUNS} runs" if !series.exact && series.points.size < LEAST_RUNS
        return "below #{(@least * 100).round(1)} %" if !series.exact && interval.estimate < 1.0 + @least
        return "#{series.points.size - index} runs ago" if series.points.size - index > @runs
        return unless after.revision && before.revision == after.revision
        "the revision is the same before and after: the machine or its tools changed"
      end
    end

    # The report of a history: the steps first, then a chart for each cell, by machine.
    class View
      DAY = 86_400.0
      # A gap lasts this many times the usual pause between runs.
      GAP = 3.0
      # Minimum number of points that make a line.
      LEAST_POINTS = 2

      # @param archive [Archive]
      # @param changes [Changes]
      # @param command [String]
      def initialize(archive, changes, command:)
        @archive = archive
        @changes = changes
        @command = command
      end

      # @return [Report::Document]
      def build
        document = Report::Document.new(title: "History: #{@archive.size} runs, #{machines.size} " \
                                               "machine#{"s" if machines.size != 1}",
                                        subtitle: "Machines apart; ratios to what ran beside them", command: @command)
        document.verdict(sentence, tone: @changes.alerts.any? ? :slower : :plain, warnings: @archive.skipped)
        document.section("Steps") { |section| add_steps(section) }
        machines.each { |machine, series| add_machine(document, machine, series) }
        document
      end

      # @return [String]
      def sentence
        alerts = @changes.alerts
        return "No alert: #{@changes.all.size} steps in #{@archive.series.size} series." if alerts.empty?
        more = alerts.size - 1
        "Alert: #{words(alerts.first)}#{"; #{more} more" if more.positive?}."
      end

      private

      def machines = @machines ||= @archive.series.group_by(&:machine)

      def words(change)
        tools = change.tools.any? ? " (with it: #{change.tools.join(", ")})" : ""
        "#{change.series.label}: #{amount(change)} since #{change.range}#{tools}"
      end

      # Counts have no interval, so it shows both counts.
      def amount(change)
        return "#{count(change.before)} \u2192 #{count(change.after)}" if change.series.exact
        Report::Cell.interval(change.change, unit: "x").to_s
      end

      def count(point) = Report::Cell.count(point.value)

      def add_steps(section)
        return section.text("None.") if @changes.all.empty?
        section.table("History: steps", header: %w[cell figure change revisions on alert machine],
                                        command: @command) do |table|
          @changes.all.each do |change|
            table.row(change.series.cell, change.series.figure, amount(change), change.range, day(change.after.at),
                      alert_words(change), change.series.machine)
          end
        end
      end

      # Names changed tools even for an alert, because they may be the cause.
      def alert_words(change) = [change.alert ? "alert" : "no: #{change.reason}", *change.tools].join("; ")

      def add_machine(document, machine, series)
        document.section(machine) do |section|
          points = series.flat_map(&:points)
          section.text("#{points.map(&:at).uniq.size} runs from #{day(points.map(&:at).min)} to " \
                       "#{day(points.map(&:at).max)}.")
          notes(series).each { |note| section.text(note) }
          section.add(overview(machine, series))
          series.each { |one| section.add(chart(machine, one)) if drawn?(one) }
        end
      end

      # One line for each figure, for readers without charts.
      def overview(machine, series)
        header = ["cell", "figure", "runs", "first", "last", "finds from"]
        Report::Table.new("History: #{machine}", header:, command: @command).tap do |table|
          series.each do |one|
            first, last = one.points.values_at(0, -1).map { |point| figure(one, point) }
            table.row(one.cell, one.figure, one.points.size, first, last, smallest(one))
          end
        end
      end

      # Every change of a count is found. For times, the smallest step depends on their noise and autocorrelation.
      def smallest(series)
        share = @changes.smallest(series)
        share ? "#{Report::Format.percent(share)} more" : ""
      end

      def figure(series, point)
        series.exact ? count(point) : Report::Cell.number(point.value, unit: series.unit)
      end

      # Counts that never changed need no chart.
      def drawn?(series)
        series.points.size >= LEAST_POINTS && !(series.exact && series.points.map(&:value).uniq.one?)
      end

      def day(time) = time.utc.strftime("%Y-%m-%d")

      # Notes of gaps and of changed tools, over all runs of a machine.
      def notes(series)
        points = series.flat_map(&:points).uniq(&:at).sort_by(&:at)
        points.each_cons(2).flat_map do |one, other|
          pause = other.at - one.at
          gap = "No run between #{day(one.at)} and #{day(other.at)}." if pause > GAP * usual_pause(points)
          tools = Changes.tools(one, other)
          [gap, ("From #{day(other.at)}: #{tools.join(", ")}." if tools.any?)].compact
        end
      end

      def usual_pause(points)
        Statistics.median(points.each_cons(2).map { |one, other| [other.at - one.at, 1.0].max })
      end

      def chart(machine, series)
        first = series.points.first.at
        place = ->(point) { ((point.at - first) / DAY).round(3) }
        chart = Report::Charts::LineChart.new("History: #{series.label} (#{machine})", command: @command,
                                              x: "days since #{day(first)}",
                                              y: [series.figure, series.unit].reject(&:empty?).join(", "))
        chart.series(series.cell, series.points.map { |point| [place.call(point), point.value, *bounds(point)] })
        of(series).each { |change| chart.mark(place.call(change.after), mark(change)) }
        series.points.each_cons(2) do |one, other|
          chart.mark(place.call(other), "other tools") if Changes.tools(one, other).any?
        end
        chart
      end

      def bounds(point) = point.low && point.high ? [point.low, point.high] : []

      def of(series) = @changes.all.select { |change| change.series.equal?(series) }

      def mark(change) = "#{change.after.revision.to_s[0, 8]}: #{amount(change)}"
    end
  end
end
