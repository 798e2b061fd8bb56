# frozen_string_literal: true

require_relative "../profile/trial"

module Tiercel
  module Lab
    module Tables
      module Gate
        # Profiles every cell on both sides. The profiler's own viewer opens the files, alone or one beside the other.
        class Profiles < Step
          SECONDS = 2.0

          # Uses the profiler of the lab's bundle, also if the tree's bundle has another one.
          class Trial < Profile::Trial
            private

            def bundle_of(contestant)
              spec = Gem.loaded_specs["vernier"] || Gem::Specification.find_all_by_name("vernier").max_by(&:version)
              spec ? contestant.bundle.with(libraries: spec.full_require_paths) : contestant.bundle
            end
          end

          # Records the table "profiles". The files lie beside the report, or beside the kept run.
          def take
            rows = @cells.flat_map do |cell|
              pairs = @trees.map { |tree| [tree.contestant(cell), cell.operation] }
              trial = Trial.new(pairs, value: cell.value, seconds: SECONDS, stem: "#{stem}-#{Report.slug(cell.label)}",
                                       **inputs)
              @run.try(trial, trial.expected_seconds)
              trial.rows.zip(@trees).map { |row, tree| row.merge("cell" => cell.label, "side" => tree.name) }
            end
            @run.table("profiles", rows.map { |row| row.except("folded") }, seconds: SECONDS)
          end

          private

          def stem
            report = @settings.report_files.first || @run.recorder.path
            File.expand_path(report.sub(/\.\w+\z/, ""))
          end
        end
      end
    end
  end
end
