# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    module Engine
      # How it went with an arm, a store or a page in a process of its own, as it is answered, kept and recorded: a
      # status with figures, or with the reason why there are none.
      module Outcome
        MEASURED = "measured"
        MISSES = "misses"
        WRONG = "wrong values"
        CANNOT_RUN = "cannot run"
        # Those that make a run's exit code 4.
        FAULTS = [MISSES, WRONG].freeze

        module_function

        # @yieldreturn [Hash, Object] figures; anything else is none
        # @return [Hash{String => Object}] "status" and figures, or "status", "reason" and "at"
        def of
          figures = yield
          { "status" => MEASURED, **(figures.is_a?(Hash) ? figures.transform_keys(&:to_s) : {}) }
        rescue Missed => e
          failure(MISSES, e.message)
        rescue WrongValue => e
          failure(WRONG, e.message)
        rescue CannotRun, WorkerLost => e
          failure(CANNOT_RUN, e.message)
        rescue StandardError, ScriptError => e
          failure(CANNOT_RUN, "#{e.class}: #{e.message.lines.first.to_s.strip}", e.backtrace&.first)
        end

        def failure(status, reason, at = nil) = { "status" => status, "reason" => reason, "at" => at }.compact

        # The first failure stays.
        #
        # @param row [Hash{String => Object}] with "status"
        # @param outcome [Hash{String => Object}]
        def note(row, outcome)
          row.merge!(outcome.slice("status", "reason")) if measured?(row) && !measured?(outcome)
        end

        # @param row [Hash{String => Object}] with "status"
        def measured?(row) = row["status"] == MEASURED

        # @return [String] "misses: nothing came back"
        def words(row) = row.values_at("status", "reason").compact.join(": ")
      end
    end
  end
end
