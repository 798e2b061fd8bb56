# frozen_string_literal: true

module Tiercel
  module Lab
    module History
      # One figure of one run.
      #
      # @!attribute [r] at
      #   @return [Time] time of the run
      # @!attribute [r] revision
      #   @return [String, nil] revision of the measured code
      # @!attribute [r] value
      #   @return [Float]
      # @!attribute [r] low
      #   @return [Float, nil] bounds of its interval; nil if it has none
      # @!attribute [r] tools
      #   @return [Hash{String => String}] versions of everything that influences figures besides the code
      Point = Data.define(:at, :revision, :value, :low, :high, :tools)

      # The values of one figure of a cell on one machine, in the order of time.
      #
      # @!attribute [r] machine
      #   @return [String]
      # @!attribute [r] cell
      #   @return [String]
      # @!attribute [r] figure
      #   @return [String] "time by memory_store", "objects"
      # @!attribute [r] unit
      #   @return [String] "x", "us", or "" for counts
      # @!attribute [r] exact
      #   @return [Boolean] whether it is a count, so that every change is a step
      Series = Data.define(:machine, :cell, :figure, :unit, :exact, :points) do
        def label = "#{cell}: #{figure}"

        # Whether the series is a baseline's time, which no revision of this project changes.
        def reference? = unit == "us"
      end
    end
  end
end
