# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    module Engine
      # The outcome of an arm, a store or a page, as processes answer and results record it: a status with figures, or a
      # status with a reason.
      module Outcome
        MEASURED = "measured"
        MISSES = "misses"
        WRONG = "wrong values"
        CANNOT_RUN = "cannot run"
        # Statuses that make the run exit with 4.
        FAULTS = [MISSES, WRONG].freeze

        module_function

        # @yieldreturn [Hash, Object] figures; any other object counts as no figures
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

        # Records an outcome in a row. The first failure of a row stays.
        #
        # @param row [Hash{String => Object}] a row with "status"
        # @param outcome [Hash{String => Object}]
        def note(row, outcome)
          row.merge!(outcome.slice("status", "reason")) if measured?(row) && !measured?(outcome)
        end

        # @param row [Hash{String => Object}] a row with "status"
        def measured?(row) = row["status"] == MEASURED

        # @return [String] "misses: nothing came back"
        def words(row) = row.values_at("status", "reason").compact.join(": ")
      end
    end
  end
end
