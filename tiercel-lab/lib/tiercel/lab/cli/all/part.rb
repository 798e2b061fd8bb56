# frozen_string_literal: true

module Tiercel
  module Lab
    module CLI
      module All
        # The run of one table as a part of a run of all tables.
        #
        # - `name`: of the command; `arguments`: as on the command line
        # - `state`: one of {STATES}
        # - `code`: exit code; nil if a signal ended the table, or if it did not begin
        # - `seconds`: duration
        # - `note`: the reason why it is incomplete
        # - `results`: the table's document, nil if there is none
        Part = Data.define(:name, :arguments, :state, :code, :seconds, :note, :results) do
          def initialize(name:, arguments:, state:, seconds:, code: nil, note: nil, results: nil) = super

          # @return [Boolean] whether a resumed run can skip it
          def complete? = state == "complete"

          # @return [Hash{String => Object}] the form of the results file
          def to_h = super.transform_keys(&:to_s)
        end

        class Part
          STATES = ["complete", "interrupted", "out of time", "failed"].freeze

          # @param record [Hash{String => Object}] a record from {#to_h}
          # @raise [UsageError] if another version of the lab wrote the record, or the file is damaged
          def self.from(record)
            new(**record.to_h.transform_keys(&:to_sym))
          rescue ArgumentError => e
            raise UsageError, "a part of the run is not of this version of the lab (#{e.message}); measure it again"
          end
        end
      end
    end
  end
end
