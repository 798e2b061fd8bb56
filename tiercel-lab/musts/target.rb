# frozen_string_literal: true

require "tiercel/lab/engine"
require "tiercel/lab/servers"

module Tiercel
  module Lab
    module Tables
      module Musts
        # A target of the project. Subclasses: {Ratio}, {Reported}, {Floor}, {Elsewhere} and {Kept}.
        class Target
          # @return [String] such as "fast-path-1a"
          attr_reader :id
          # @return [String] the target in words
          attr_reader :text

          # {Catalogue} finds objects by name.
          alias name id

          # @param id [String]
          # @param text [String]
          def initialize(id:, text:)
            @id = id
            @text = text
          end

          # @param outcome [Outcome]
          # @return [Hash{String => Object}] the form of the results file
          def record(outcome)
            { "id" => id, "text" => text, "cell" => cell, "bound" => bound, "state" => outcome.state.to_s,
              "figure" => outcome.figure&.record, "note" => outcome.note }
          end

          # The result for a target.
          #
          # @!attribute [r] state
          #   @return [Symbol] :holds, :fails, :undecided, :reported, :cannot_run or :elsewhere
          # @!attribute [r] figure
          #   @return [Statistics::Interval, nil]
          # @!attribute [r] note
          #   @return [String, nil] the reason why there is no figure, or the command that decides
          Outcome = Data.define(:state, :figure, :note) do
            def initialize(state:, figure: nil, note: nil) = super
          end

          # A candidate's time divided by a baseline's time in the same blocks.
          class Ratio < Target
            # @return [String]
            attr_reader :value
            # @return [Array(String, String)] store and operation
            attr_reader :baseline, :candidate
            # @return [Float]
            attr_reader :bound

            # @param value [String] name of a value
            # @param baseline [Array(String, String)]
            # @param candidate [Array(String, String)]
            # @param at_most [Float] candidate's time divided by the baseline's
            def initialize(value:, baseline:, candidate:, at_most:, **words)
              super(**words)
              @value = value
              @baseline = baseline
              @candidate = candidate
              @bound = at_most
            end

            # @return [String]
            def cell = "#{value}: #{candidate.join(" ")} / #{baseline.join(" ")}"

            # Targets with the same group are measured together.
            #
            # @return [Object]
            def group = [value, baseline]

            # @param cells [Array<Cell>] cells of the target's comparison
            # @param protocol [Protocol] the measurement's protocol
            # @return [Outcome]
            def judge(cells, protocol)
              mine = find(cells, candidate, :contestant)
              missing = [find(cells, baseline, :baseline), mine].find { |cell| !cell.measured? }
              return Outcome.new(state: :cannot_run, note: words(missing)) if missing
              median, mean = mine.summary.ratio, mine.summary.mean_ratio
              Outcome.new(state: state(median, mean), figure: median,
                          note: needed(mine.block_ns.size, median, mean, protocol))
            end

            # @param cell [Cell] measured
            # @return [Boolean] whether it belongs to this target and is undecided
            def undecided?(cell)
              [cell.arm.contestant.text, cell.arm.operation.name] == candidate &&
                state(cell.summary.ratio, cell.summary.mean_ratio) == :undecided
            end

            private

            def find(cells, (store, operation), role)
              cells.find do |cell|
                cell.arm.role == role && cell.arm.contestant.text == store && cell.arm.operation.name == operation
              end
            end

            def words(cell) = "#{cell.arm.name}: #{[cell.status, cell.reason].compact.join(": ")}"

            def needed(processes, ratio, mean, protocol)
              return mean_words(mean) if mean.low > bound && ratio.low <= bound
              return unless state(ratio, mean) == :undecided && protocol.equality
              count = protocol.needed(ratio.map { |figure| Math.log(figure) }, processes,
                                      distance: (Math.log(bound) - Math.log(ratio.estimate)).abs)
              count ? "--processes #{count} would decide it" : "it is as good as at its bound"
            end

            # A target holds or fails if its whole interval lies on one side of the bound. It also fails if the mean's
            # interval lies beyond the bound.
            def state(median, mean)
              return :fails if [median, mean].any? { |ratio| ratio.low > bound }
              median.high <= bound && mean.estimate <= bound ? :holds : :undecided
            end

            def mean_words(mean) = "by the mean #{Report::Cell.interval(mean, unit: "x")}"
          end

          # A ratio that is measured in the same blocks as a target, without a target of its own.
          class Reported < Ratio
            def initialize(**) = super(**, at_most: nil)

            def undecided?(_cell) = false

            private

            def needed(*) = nil
            def state(*) = :reported
          end

          # The largest difference between two copies of the same arm.
          class Floor < Target
            attr_reader :value, :baseline, :bound

            # @param value [String]
            # @param baseline [Array(String, String)]
            # @param at_most [Float] 0.03: 3 %
            def initialize(value:, baseline:, at_most:, **words)
              super(**words)
              @value = value
              @baseline = baseline
              @bound = at_most
            end

            def candidate = nil

            def cell = "#{value}: #{baseline.join(" ")} against itself"

            def group = [value, baseline]

            # @param cells [Array<Cell>]
            # @return [Outcome]
            def judge(cells, _protocol)
              twin = cells.find { |cell| cell.arm.role == :null && cell.measured? && cell.summary.ratio }
              return Outcome.new(state: :cannot_run, note: "it was not measured") unless twin
              ratio = twin.summary.ratio
              reach = ratio.map { |bound| Math.log(bound) }.reach
              Outcome.new(state: Math.exp(reach) - 1 <= bound ? :holds : :undecided, figure: ratio)
            end
          end

          # A target that another command decides.
          class Elsewhere < Target
            # @param command [String]
            def initialize(command:, **words)
              super(**words)
              @command = command
            end

            # @return [nil] no comparison
            def group = nil

            def cell = ""
            def bound = nil

            def judge(_cells = [], _protocol = nil) = Outcome.new(state: :elsewhere, note: @command)
          end

          # A target that the newest kept run of another command decides, if it measured this revision.
          class Kept < Elsewhere
            # @param run [String] name of the command
            # @param judging [#call] receives the run's results, and returns the state and a sentence
            def initialize(run:, judging:, **words)
              super(**words)
              @run = run
              @judging = judging
            end

            # @param folder [String] folder with kept results
            # @return [Outcome] names the command if there is no such run
            def judge_kept(folder)
              file = Dir[File.join(folder, "*-#{@run}-*.jsonl")].max or return judge
              results = Engine::Results.load(file)
              return judge unless results.dig("environment", "git", "sha") == Engine::Machine.describe.dig("git", "sha")
              state, note = @judging.call(results)
              Outcome.new(state:, note: "#{note} (#{File.basename(file)})")
            rescue UsageError
              judge
            end
          end
        end
      end
    end
  end
end
