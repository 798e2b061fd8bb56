# frozen_string_literal: true

require_relative "../report"
require_relative "../runner/machine"
require_relative "../statistics"
require_relative "../terminal/figures"
require_relative "../values"
require_relative "carried"
require_relative "leader"

module Tiercel
  module Lab
    module Documents
      # What the reports of all tables have in common: they are made from a run's results and nothing else.
      #
      #   class Sizes < Table
      #     def fill(document)
      #       document.verdict("...", floor: worst_floor, warnings:)
      #       document.section("Hits") { |section| ... time(cell) ... }
      #     end
      #   end
      #   Sizes.new(results, command: "bin/lab sizes").build
      #
      # @abstract Subclasses implement {#title} and {#fill}.
      class Table
        # @return [Hash{String => Object}] see the JSON Schema
        attr_reader :results
        # @return [String] what makes it again
        attr_reader :command

        # @param results [Hash{String => Object}] see {Results.load}
        # @param command [String]
        def initialize(results, command:)
          @results = results
          @command = command
        end

        # @return [Report::Document]
        def build
          document = Report::Document.new(title:, subtitle:, command:, data: results, environment:)
          fill(document)
          document.sections.flat_map(&:elements).grep(Report::Table).each { |table| table.command ||= command }
          document
        end

        # @return [String]
        def title = raise(NotImplementedError)

        # @return [String]
        def subtitle
          "#{Protocol.from(results["run"]["protocol"]).size_words}, interleaved; 95 % intervals"
        end

        # @param document [Report::Document]
        # @return [void]
        def fill(document) = raise(NotImplementedError)

        # @return [Boolean]
        def quick? = results["run"]["protocol"]["name"] == "quick"

        # @return [Array<String>]
        def warnings = results.fetch("warnings", [])

        # @return [Hash{String => String}]
        def environment
          facts = results["environment"]
          servers = results.fetch("servers", []).map { |server| server.values_at("name", "version").compact.join(" ") }
          { "Machine" => Runner::Machine.sentence(facts), "Kernel" => facts["kernel"], "Pinning" => facts["pinning"],
            "Servers" => (servers.uniq.join(", ") if servers.any?), "Date" => results["run"]["started_at"],
            "Seed" => results["run"]["seed"], "Revision" => facts.dig("git", "sha")&.slice(0, 8) }.compact
        end

        # Cells that are rows (no null arms, no loops).
        #
        # @param facts [Hash{Symbol => String}] `value:`, `operation:`, `status:` ...
        # @return [Array<Hash>]
        def cells(**facts)
          results["cells"].select do |cell|
            %w[baseline contestant].include?(cell["role"]) && facts.all? { |name, fact| cell[name.to_s] == fact }
          end
        end

        # @param name [String] of {Results::Recorder#table}
        # @return [Array<Hash{String => Object}>] its rows; none if there is no such table
        def rows(name) = recorded(name)["rows"]

        # @param name [String]
        # @return [Hash{String => Object}] what was recorded beside the rows
        def notes(name) = recorded(name)["notes"]

        # @param cell [Hash]
        # @return [Boolean]
        def measured?(cell) = cell["status"] == "measured" && !cell["summary"].nil?

        # @param cell [Hash]
        # @return [Report::Cell] microseconds a call with their interval, or why there are none
        def time(cell)
          return missing(cell) unless measured?(cell)
          Report::Cell.interval(interval(cell["summary"]["ns"], 1e-3), unit: "us",
                                muted: cell["summary"]["verdict"] == "cannot_tell")
        end

        # @param cell [Hash]
        # @return [Report::Cell, String] time by the baseline's
        def ratio(cell)
          return "" unless measured?(cell)
          return "baseline" if cell["role"] == "baseline"
          found = interval(cell["summary"]["ratio"]) or return "no baseline"
          Report::Cell.interval(found, unit: "x", muted: cell["summary"]["verdict"] == "cannot_tell")
        end

        # @param cell [Hash]
        # @return [Symbol, String] for {Report::Cell.from}
        def verdict(cell)
          word, needs = cell["summary"].to_h.values_at("verdict", "needs")
          return "" unless word
          Report::Cell.verdict(word.to_sym, note: needs && "`--processes #{needs}` would decide it.")
        end

        # @param cell [Hash, nil]
        # @return [Report::Cell] objects that a call allocates
        def objects(cell) = Report::Cell.count(cell&.dig("exact", "allocations"))

        # @param cell [Hash]
        # @return [Report::Cell]
        def missing(cell) = Report::Cell.missing([cell["status"], cell["reason"]].compact.join(": "))

        # @param value [String] a value's name
        # @return [String] its title; the name where it is no value of this lab's (`--data`, another version's run)
        def title_of(value) = Values.known?(value) ? Values.fetch(value).title : value

        # @param value [String] a value's name
        # @return [String] what to type to make this part of the table again
        def command_for(value)
          [*command.split.take(2), *(["--value", value] if Values.known?(value)), *Carried.words(results)].join(" ")
        end

        # @param cell [Hash]
        # @return [String] the contestant, without options
        def name(cell) = cell["contestant"]["name"]

        # @param cell [Hash] that was measured
        # @return [Float] us of a call
        def microseconds(cell) = cell["summary"]["ns"]["estimate"] / 1e3

        # @param cell [Hash] that was measured
        # @return [String] time of a call, for a sentence
        def spent(cell) = Report::Format.with_unit(microseconds(cell), "us")

        # @param hash [Hash{String => Float}, nil] estimate, low, high
        # @param factor [Float]
        # @return [Statistics::Interval, nil]
        def interval(hash, factor = 1.0)
          hash && Statistics::Interval.new(*hash.values_at("estimate", "low", "high").map { |number| number * factor })
        end

        # Who is ahead of cells that keep something: by their ratios where they were interleaved, else by their times.
        #
        # @param cells [Array<Hash>]
        # @return [Leader] of cells
        def leader(cells)
          interleaved = cells.map { |cell| cell["comparison"] }.uniq.one? && cells.one? { |cell| baseline?(cell) }
          cells = cells.select { |cell| measured?(cell) && cell["contestant"]["keeps"] != false }
          interleaved &&= cells.all? { |cell| baseline?(cell) || cell["summary"]["ratio"] }
          margins = cells.map { |cell| cell["summary"]["threshold"] || Protocol::MARGINS.fetch(medium(cell)) }
          Leader.new(cells.to_h { |cell| [cell, interleaved ? to_baseline(cell) : interval(cell["summary"]["ns"])] },
                     margin: margins.max)
        end

        # @return [String, nil] the noise floor of the run: its worst null arm
        def worst_floor
          floors = results["cells"].filter_map { |cell| cell.dig("summary", "floor") if cell["role"] == "null" }
          Terminal::Figures.percent(floors.max) if floors.any?
        end

        # @param share [Float] 0.02
        # @return [Statistics::Interval] of ratios within it, for {Report::Charts::ForestPlot}
        def band(share) = Statistics::Interval.new(1.0, 1.0 / (1.0 + share), 1.0 + share)

        # A figure for each block, as the summary has them, for {Report::Table#raw}.
        #
        # @param cell [Hash]
        # @return [Array<Float>] us
        def block_us(cell)
          cell["slices"].group_by { |process, block,| [process, block] }.values.map do |slices|
            ns = slices.sum { |slice| (cell["clock"] == "cpu" ? slice[6] : slice[4]) - slice[5] }
            ns.fdiv(slices.sum { |slice| slice[3] }) / 1e3
          end
        end

        private

        def baseline?(cell) = cell["role"] == "baseline"

        def medium(cell) = cell["contestant"].fetch("medium", "process").to_sym

        def to_baseline(cell) = interval(cell["summary"]["ratio"]) || Statistics::Interval.new(1.0, 1.0, 1.0)

        def recorded(name) = results["tables"].find { |table| table["name"] == name } || { "rows" => [], "notes" => {} }
      end
    end
  end
end
