# frozen_string_literal: true

require_relative "../tables"
require_relative "chapters"

module Tiercel
  module Lab
    module CLI
      # Shows several kept runs in one report. Comparisons that several runs have stand side by side, marked A, B...
      # Each ratio refers to the baseline of the same run, so times of different machines are never divided by each
      # other.
      class Machines
        # @param runs [Array<Hash{String => Object}>] in their order; a run of all tables counts as its parts
        # @param command [String]
        # @param program [String] the name of the command, for examples
        def initialize(runs, command:, program:)
          @runs = runs
          @command = command
          @program = program
          @marks = ("A".."ZZ").first(runs.size)
        end

        # @return [Report::Document]
        def build
          document = Report::Document.new(title: "#{@runs.size} runs, " \
                                                 "#{machines.size == 1 ? "one machine" : "#{machines.size} machines"}",
                                          subtitle: "Ratios are within a run; times of different machines stand side " \
                                                    "by side only",
                                          command: @command, data: data, environment:)
          document.verdict(sentence, warnings:)
          shared.group_by { |(command, _comparison), _cells| command }.each do |command, groups|
            side_by_side(document, command, groups)
          end
          each_part { |mark, name, part| chapter(document, mark, name, part) }
          document
        end

        private

        def warnings
          @runs.zip(@marks).flat_map { |run, mark| run.fetch("warnings", []).map { |text| "#{mark}: #{text}" } }
        end

        def data = { "runs" => @runs.map { |run| Chapters.light(run).except("parts") } }

        def machines = @runs.map { |run| Engine::Machine.sentence(run["environment"]) }.uniq

        def environment
          @runs.zip(@marks).to_h do |run, mark|
            facts = [Engine::Machine.sentence(run["environment"]), run["run"]["started_at"],
                     run.dig("environment", "git", "sha")&.slice(0, 8)]
            [mark, facts.compact.join("; ")]
          end
        end

        def sentence
          if shared.empty?
            "The runs have no cell in common; each stands alone."
          else
            "#{shared.size} comparisons were made by more than one run."
          end
        end

        # Yields every run of a single command.
        #
        # @yieldparam mark [String] mark of the run
        # @yieldparam name [String]
        # @yieldparam part [Hash{String => Object}]
        def each_part
          @runs.zip(@marks).each do |run, mark|
            parts = run.fetch("parts", []).filter_map { |part| part["results"] }
            (parts.empty? ? [run] : parts).each { |part| yield mark, part["run"]["command"], part }
          end
        end

        # Rows of comparisons that several runs have.
        #
        # @return [Hash{Array(String, String) => Hash{String => Array<Hash>}}] by command and comparison: cells by mark
        def shared
          @shared ||= Hash.new { |hash, key| hash[key] = {} }.tap do |found|
            each_part do |mark, name, part|
              rows = part["cells"].select { |cell| %w[baseline contestant].include?(cell["role"]) }
              rows.group_by { |cell| cell["comparison"] }.each do |comparison, cells|
                found[[name, comparison]][mark] = cells
              end
            end
            found.select! { |_key, by_mark| by_mark.size > 1 }
          end
        end

        def side_by_side(document, command, groups)
          document.section("#{command}: side by side") do |section|
            groups.each do |(_command, comparison), by_mark|
              header = ["", *by_mark.keys.flat_map { |mark| ["#{mark}: time", "#{mark}: ratio"] }]
              section.table("#{command}: #{comparison}, by run", header:, command: @command) do |table|
                fill(table, by_mark)
              end
            end
          end
        end

        def fill(table, by_mark)
          several = by_mark.values.flatten.map { |cell| cell["operation"] }.uniq.size > 1
          key = ->(cell) { several ? "#{cell["contestant"]["name"]} #{cell["operation"]}" : cell["contestant"]["name"] }
          reader = Tables::View.new({ "cells" => [], "tables" => [] }, command: @command)
          by_mark.values.flatten.map(&key).uniq.each do |name|
            of_name = by_mark.values.map { |cells| cells.find { |cell| key.call(cell) == name } }
            table.row(name, *of_name.flat_map { |cell| figures(cell, reader) })
          end
        end

        def figures(cell, reader) = cell ? [reader.time(cell), reader.ratio(cell)] : ["", ""]

        def chapter(document, mark, name, part)
          found = Tables.report(part, program: @program)
          Chapters.add(document, found, title: "#{mark}, #{name}: #{found.title}", anchor: "#{mark.downcase}-#{name}")
        rescue UsageError => e # a run of a version with other commands
          document.section("#{mark}, #{name}") { |section| section.text("Cannot be shown: #{e.message}") }
        end
      end
    end
  end
end
