# frozen_string_literal: true

require_relative "../profile/trial"
require_relative "../compare/flame_files"

module Tiercel
  module Lab
    module Tables
      module Gate
        # Draws flame graphs of both sides: of the cells that regressed, or of the cell that differs most.
        class Flames < Step
          MOST = 3
          SECONDS = 2.0

          # Uses the profiler of the lab's bundle, also if the tree's bundle has another one.
          class Trial < Profile::Trial
            private

            def bundle_of(contestant)
              spec = Gem.loaded_specs["vernier"] || Gem::Specification.find_all_by_name("vernier").max_by(&:version)
              spec ? contestant.bundle.with(libraries: spec.full_require_paths) : contestant.bundle
            end
          end

          # Records the tables "profiles" and "flame graphs".
          #
          # @param rows [Array<Hash{String => Object}>] see {Judgement}
          def draw(rows) = keep(chosen(rows))

          def draw_all = keep(@cells)

          private

          def keep(cells)
            profiles = cells.flat_map { |cell| profile(cell) }
            return if profiles.empty?
            @run.table("profiles", profiles, seconds: SECONDS)
            pages = profiles.group_by { |row| row["cell"] }.flat_map { |cell, pair| write(cell, pair) }
            @run.table("flame graphs", pages)
          end

          def chosen(rows)
            found = rows.select { |row| row["verdict"] == Judgement::REGRESSED }
            found = [most_different(rows)].compact if found.empty?
            labels = found.map { |row| row["cell"] }.uniq.first(MOST)
            @cells.select { |cell| labels.include?(cell.label) }
          end

          def most_different(rows)
            rows.select { |row| row["ratio"] }.max_by { |row| Math.log(row["ratio"]["estimate"]).abs }
          end

          def profile(cell)
            pairs = @trees.map { |tree| [tree.contestant(cell), cell.operation] }
            stem = "#{kept}-#{slug(cell)}"
            trial = Trial.new(pairs, value: cell.value, seconds: SECONDS, stem:, **inputs)
            @run.try(trial, trial.expected_seconds)
            trial.rows.zip(@trees).map { |row, tree| row.merge("cell" => cell.label, "side" => tree.name) }
          end

          def write(cell, pair)
            return [] unless pair.size == 2 && pair.all? { |row| Engine::Outcome.measured?(row) && row["folded"].any? }
            report = @settings.report_files.first
            own = report && report.sub(/(\.\w+)?\z/) { |ending| "-#{Report.slug(cell)}#{ending}" }
            pages = Compare::FlameFiles.new(report: own, kept: "#{kept}-#{Report.slug(cell)}")
            pages.write(pair, @trees.map(&:name)).map { |row| row.merge("cell" => cell) }
          end

          def slug(cell) = Report.slug(cell.label)

          def kept = File.expand_path(@run.recorder.path.delete_suffix(".jsonl"))
        end
      end
    end
  end
end
