# frozen_string_literal: true

module Tiercel
  module Lab
    module Load
      # The moments at which requests are made.
      #
      # - `closed`: the next request follows the answer to the one before, for a number of `requests` or of `seconds`.
      # - `exponential`, `constant`: requests are due at a `rate` for `seconds`, whether the one before was answered or
      #   not. A late answer delays those that were due in the meantime, and their wait counts. (A closed loop leaves
      #   that wait out: "coordinated omission", Gil Tene, 2013.)
      #
      # @!attribute [r] at
      #   @return [Float, nil] monotonic seconds at which the first request is due; every process of a machine shares
      #     that clock
      Arrivals = Data.define(:kind, :requests, :seconds, :rate, :seed, :at) do
        def initialize(kind: "closed", requests: nil, seconds: nil, rate: nil, seed: 1, at: nil) = super

        # @return [Boolean] whether requests come at a rate of their own
        def open? = kind != "closed"

        # @return [Array<Float>] seconds after the start at which the requests of an open load are due
        def schedule
          random = Random.new(seed)
          due = 0.0
          Array.new([(rate * seconds).ceil, 1].max) { due.tap { due += gap(random) } }
        end

        private

        # Of an exponential distribution by inversion: -ln(1 - u) / rate.
        def gap(random) = kind == "constant" ? 1.0 / rate : -Math.log(1.0 - random.rand) / rate
      end

      class Arrivals
        OPEN = %w[exponential constant].freeze
      end
    end
  end
end
