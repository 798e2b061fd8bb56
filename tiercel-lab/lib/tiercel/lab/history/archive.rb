# frozen_string_literal: true

require "time"
require_relative "../engine"
require_relative "point"

module Tiercel
  module Lab
    module History
      # Reads the results of a folder as series. It reads results of all versions of the lab; points of older versions
      # lack figures that those versions did not record.
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

        # Splits a run of several commands into its parts. It leaves out comparisons of two revisions, whose figures
        # belong to neither.
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
    end
  end
end
