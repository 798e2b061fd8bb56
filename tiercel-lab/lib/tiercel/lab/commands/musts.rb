# frozen_string_literal: true

require_relative "../command"
require_relative "../comparison"
require_relative "../documents/musts"
require_relative "../targets"
require_relative "../terminal/musts_report"
require_relative "../terminal/plan_report"

module Tiercel
  module Lab
    module Commands
      # Every target that the project has set itself, and whether it holds here.
      class Musts < Command
        called "musts", "Prints every target of the project with its cell, figure and interval, and whether it holds."
        example "musts", "musts --quick", "musts fast-path-1a fast-path-1b", "musts --plan"

        def self.document(results, command:) = Documents::Musts.new(results, command:).build

        def options(parser)
          parser.separator("    ID...                            some targets only, or a common beginning (fast-path)")
        end

        def accept(rest) = @ids = rest

        def run
          targets = chosen
          pairs, refused = planned(targets)
          plan = pairs.map(&:first)
          return print_plan(plan) if settings.plan
          measurement = session.measure(plan, decided: decided(pairs.to_h))
          outcomes = judge(targets, pairs, refused, measurement.cells)
          session.finish("targets" => records(outcomes))
          publish(self.class.document(session.results, command: command_line("musts", *@arguments)),
                  text: Terminal::MustsReport.new(outcomes, session:).to_s(style))
          exit_code(outcomes)
        end

        private

        def chosen
          return Targets.all if @ids.empty?
          @ids.flat_map do |id|
            found = Targets.all.select { |target| target.id.start_with?(id) }
            found.empty? ? [Targets.fetch(id)] : found
          end.uniq
        end

        # What is asked is on which side of its bound a ratio lies, not whether it is the baseline's.
        def decided(targets)
          lambda do |cell|
            targets.fetch(cell.comparison).grep(Target::Ratio).none? { |target| target.undecided?(cell) }
          end
        end

        # One comparison for all targets with the same baseline on the same value; a contestant that is not known here
        # leaves a reason in its place.
        #
        # @return [Array(Array<Array(Comparison, Array<Target>)>, Hash{Target => String})]
        def planned(targets)
          refused = {}
          groups = targets.select(&:group).group_by(&:group)
          pairs = groups.filter_map do |(value, baseline), members|
            members -= members.select { |target| refused[target] = refusal(target) }
            next if members.empty?
            others = members.filter_map(&:candidate).uniq.map { |pair| resolve(pair) }
            [Comparison.between(value: Values.fetch(value), baseline: resolve(baseline), others:), members]
          end
          [pairs, refused.compact]
        end

        def resolve((store, operation)) = [Contestants.parse(store), Operations.fetch(operation)]

        def refusal(target)
          [target.baseline, target.candidate].compact.each { |pair| resolve(pair) }
          nil
        rescue UsageError => e
          e.message[/\A[^.]*/]
        end

        def judge(targets, pairs, refused, cells)
          by_comparison = cells.group_by(&:comparison)
          judged = pairs.flat_map do |comparison, members|
            members.map { |target| [target, target.judge(by_comparison.fetch(comparison), protocol)] }
          end.to_h
          targets.to_h do |target|
            [target, judged[target] || cannot(refused[target]) || decided_elsewhere(target)]
          end
        end

        def protocol = settings.bounded(settings.protocol)

        def decided_elsewhere(target)
          case target
          when Target::Kept then target.judge_kept(settings.results)
          when Target::Limit then target.measure
          else target.judge
          end
        end

        def cannot(reason) = reason && Target::Outcome.new(state: :cannot_run, note: reason)

        def records(outcomes)
          outcomes.map do |target, outcome|
            { "id" => target.id, "text" => target.text, "cell" => target.cell, "bound" => target.bound,
              "state" => outcome.state.to_s, "figure" => outcome.figure&.to_h&.transform_keys(&:to_s),
              "note" => outcome.note }
          end
        end

        def print_plan(plan)
          out.puts Terminal::PlanReport.new(plan, protocol: settings.protocol).to_s(style)
          ExitCodes::OK
        end

        def exit_code(outcomes)
          states = outcomes.each_value.map(&:state)
          return ExitCodes::DOES_NOT_HOLD if states.include?(:fails)
          states.intersect?(%i[undecided cannot_run]) ? ExitCodes::UNDECIDED : ExitCodes::OK
        end
      end

      add Musts
    end
  end
end
