# frozen_string_literal: true

require_relative "../report"
require_relative "point"

module Tiercel
  module Lab
    module History
      # The report of a history: the steps first, then a chart for each cell, by machine.
      class View
        DAY = 86_400.0
        # A gap lasts this many times the usual pause between runs.
        GAP = 3.0
        # Minimum number of points that make a line.
        LEAST_POINTS = 2
        # Maximum number of runs in a table's line.
        COURSE = 40

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
          header = ["cell", "figure", "runs", "first", "last", "finds from", "course"]
          Report::Table.new("History: #{machine}", header:, command: @command).tap do |table|
            series.each do |one|
              first, last = one.points.values_at(0, -1).map { |point| figure(one, point) }
              table.row(one.cell, one.figure, one.points.size, first, last, smallest(one), course(one))
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

        # Draws the last runs from the lowest to the highest value, and marks the steps.
        def course(series)
          steps = of(series).map(&:index)
          points = series.points.each_with_index.to_a.last(COURSE)
          bars = Report::Format.bars(points.map { |point, _| point.value })
          points.zip(bars).map { |(_, index), bar| "#{"|" if steps.include?(index)}#{bar}" }.join
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
end
