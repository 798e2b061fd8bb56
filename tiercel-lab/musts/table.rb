# frozen_string_literal: true

require "tiercel/lab/tables"
require_relative "targets"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # Tiercel's performance targets, and whether they hold on this machine. Other projects have other targets, so the
      # gem does not contain this table.
      module Musts
        class Table < Tables::Table
          called "musts", "Every target of the project, and whether it holds here."
          example "musts", "musts --quick", "musts fast-path-1a fast-path-1b", "musts --plan"
          takes :quick, :seed, :cells

          def self.usage = "[ID...]"

          def options(parser)
            parser.separator("    ID...: some targets only, or a common beginning (fast-path)")
          end

          def accept(rest)
            @targets = rest.empty? ? Targets.all : rest.flat_map { |id| targets_of(id) }.uniq
          end

          def plan = planned.map(&:first)

          # A ratio is decided when its interval lies on one side of the target's bound.
          def take(comparisons)
            members = planned.to_h
            decided = lambda do |cell|
              members.fetch(cell.comparison).grep(Target::Ratio).none? { |target| target.undecided?(cell) }
            end
            cells(comparisons, decided:)
            @outcomes = judge(@measurements.flat_map(&:cells))
          end

          def facts = { "targets" => @outcomes.map { |target, outcome| target.record(outcome) } }

          def exit_code
            states = results["targets"].map { |target| target["state"] }
            return CODES[:does_not_hold] if states.include?("fails")
            CODES[states.intersect?(%w[undecided cannot_run]) ? :undecided : :ok]
          end

          private

          def targets_of(id)
            found = Targets.all.select { |target| target.id.start_with?(id) }
            found.empty? ? [Targets.fetch(id)] : found
          end

          # Makes one comparison for all targets with the same baseline and value. A target whose contestant does not
          # exist here gets a reason instead.
          #
          # @return [Array<Array(Engine::Comparison, Array<Target>)>]
          def planned
            @planned ||= begin
              @refused = {}
              @targets.select(&:group).group_by(&:group).filter_map do |(value, baseline), members|
                members -= members.select { |target| @refused[target] = refusal(target) }
                next if members.empty?
                others = members.filter_map(&:candidate).uniq.map { |pair| resolve(pair) }
                [Engine::Comparison.between(value: Values.fetch(value), baseline: resolve(baseline), others:), members]
              end
            end
          end

          def resolve((store, operation)) = [Contestants.parse(store), Operations.fetch(operation)]

          def refusal(target)
            [target.baseline, target.candidate].compact.each { |pair| resolve(pair) }
            nil
          rescue UsageError => e
            e.message[/\A[^.]*/]
          end

          def judge(cells)
            by_comparison = cells.group_by(&:comparison)
            bounded = settings.bounded(protocol)
            judged = planned.flat_map do |comparison, members|
              members.map { |target| [target, target.judge(by_comparison.fetch(comparison), bounded)] }
            end.to_h
            @targets.to_h { |target| [target, judged[target] || cannot(target) || decided_elsewhere(target)] }
          end

          def cannot(target)
            reason = @refused[target]
            Target::Outcome.new(state: :cannot_run, note: reason) if reason
          end

          def decided_elsewhere(target)
            case target
            when Target::Kept then target.judge_kept(settings.results)
            else target.judge
            end
          end
        end
      end

      add Musts::Table
    end
  end
end
