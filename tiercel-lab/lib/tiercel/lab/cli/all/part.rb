# frozen_string_literal: true

module Tiercel
  module Lab
    module CLI
      module All
        # A table's run within a run of all of them.
        #
        # - `name`: its command; `arguments`: as the user would type them
        # - `state`: one of {STATES}
        # - `code`: exit code; nil where it was ended by a signal, or not begun
        # - `seconds` that it took
        # - `note`: why it is not complete
        # - `results`: its document, nil where there is none
        Part = Data.define(:name, :arguments, :state, :code, :seconds, :note, :results) do
          def initialize(name:, arguments:, state:, seconds:, code: nil, note: nil, results: nil) = super

          # @return [Boolean] whether there is no reason to measure it again
          def complete? = state == "complete"

          # @return [Hash{String => Object}] for the results
          def to_h = super.transform_keys(&:to_s)
        end

        class Part
          STATES = ["complete", "interrupted", "out of time", "failed"].freeze

          # @param record [Hash{String => Object}] of {#to_h}
          def self.from(record) = new(**record.transform_keys(&:to_sym))
        end
      end
    end
  end
end
