# frozen_string_literal: true

require_relative "protocol"

module Tiercel
  module Lab
    module Engine
      # Reasons to doubt a run's figures, as sentences.
      module Warnings
        module_function

        # @param disturbances [Array<Hash>] see {Measurement#disturbances}
        # @param cells [Array<Cell>]
        # @param interrupted [Boolean]
        # @return [Array<String>]
        def of(disturbances, cells, interrupted:)
          flags = cells.flat_map { |cell| cell.summary ? cell.summary.flags : [] }
          [share(disturbances, "steal", Protocol::STEAL_SHARE, "The hypervisor took up to %s of the CPUs."),
           share(disturbances, "pressure", Protocol::PRESSURE_SHARE,
                 "Other programs used the CPUs (pressure up to %s), which widens the intervals."),
           aside(disturbances), told_apart(cells),
           ("Some cells have fewer blocks than planned, to end in time." if flags.include?("hurried") && !interrupted),
           ("Interrupted: some cells are missing or have fewer processes." if interrupted)].compact
        end

        def aside(disturbances)
          count = disturbances.count { |round| round["aside"] }
          "#{count} of #{disturbances.size} rounds were set aside: other programs had the CPU." if count.positive?
        end
        private_class_method :aside

        # If the verdict tells two copies of the same code apart, other verdicts of the run may be wrong too.
        def told_apart(cells)
          wrong = cells.select { |cell| cell.arm.role == :null && %i[faster slower].include?(cell.summary&.verdict) }
          return if wrong.empty?
          "Two copies of the same code were told apart (#{wrong.map(&:id).join(", ")}): do not trust verdicts near " \
            "their margins."
        end
        private_class_method :told_apart

        def share(disturbances, name, most, words)
          worst = disturbances.filter_map { |round| round[name] }.max.to_f
          format(words, format("%.1f %%", worst * 100)) if worst > most
        end
        private_class_method :share
      end
    end
  end
end
