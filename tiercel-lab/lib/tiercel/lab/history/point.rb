# frozen_string_literal: true

module Tiercel
  module Lab
    module History
      # One figure of one run.
      #
      # @!attribute [r] at
      #   @return [Time] of the run
      # @!attribute [r] revision
      #   @return [String, nil] of what was measured
      # @!attribute [r] value
      #   @return [Float]
      # @!attribute [r] low
      #   @return [Float, nil] bounds of its interval, where it has one
      # @!attribute [r] tools
      #   @return [Hash{String => String}] versions that figures depend on beside the code
      Point = Data.define(:at, :revision, :value, :low, :high, :tools)

      # A figure of a cell on one machine, in the order of time.
      #
      # @!attribute [r] machine
      #   @return [String]
      # @!attribute [r] cell
      #   @return [String]
      # @!attribute [r] figure
      #   @return [String] "time by memory_store", "objects"
      # @!attribute [r] unit
      #   @return [String] "x", "us", or "" of what is counted
      # @!attribute [r] exact
      #   @return [Boolean] counted: any change is one
      Series = Data.define(:machine, :cell, :figure, :unit, :exact, :points) do
        def label = "#{cell}: #{figure}"

        # Nobody's change: the baseline of other cells.
        def reference? = unit == "us"
      end
    end
  end
end
