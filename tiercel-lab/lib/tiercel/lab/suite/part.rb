# frozen_string_literal: true

module Tiercel
  module Lab
    module Suite
      # A table's run within a run of all of them.
      #
      # @!attribute [r] name
      #   @return [String] the command
      # @!attribute [r] arguments
      #   @return [Array<String>] as the user would type them
      # @!attribute [r] state
      #   @return [String] one of {STATES}
      # @!attribute [r] code
      #   @return [Integer, nil] exit code; nil where it was ended by a signal, or not begun
      # @!attribute [r] seconds
      #   @return [Float]
      # @!attribute [r] note
      #   @return [String, nil] why it is not complete
      # @!attribute [r] results
      #   @return [Hash{String => Object}, nil] its document
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
        # @return [Part]
        def self.from(record) = new(**record.transform_keys(&:to_sym))
      end
    end
  end
end
