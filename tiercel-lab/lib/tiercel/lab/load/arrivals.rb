# frozen_string_literal: true

module Tiercel
  module Lab
    module Load
      # The times of a load's requests.
      #
      # - `closed`: each request follows the answer to the previous one, for a number of `requests` or of `seconds`
      # - `exponential`, `constant`: requests are due at a `rate` for `seconds`, whether earlier ones were answered or
      #   not. A late answer delays the requests that are due meanwhile, and their waiting time counts. (A closed loop
      #   ignores it: "coordinated omission", Gil Tene, 2013.)
      #
      # @!attribute [r] at
      #   @return [Float, nil] monotonic seconds at which the first request is due; the clock is the same in every
      #   process
      Arrivals = Data.define(:kind, :requests, :seconds, :rate, :seed, :at) do
        def initialize(kind: "closed", requests: nil, seconds: nil, rate: nil, seed: 1, at: nil) = super

        # @return [Boolean] whether requests are due at a rate
        def open? = kind != "closed"

        # @return [Array<Float>] seconds from the start to each due time of an open load
        def schedule
          random = Random.new(seed)
          due = 0.0
          Array.new([(rate * seconds).ceil, 1].max) { due.tap { due += gap(random) } }
        end

        private

        # An exponential distribution by inversion: -ln(1 - u) / rate.
        def gap(random) = kind == "constant" ? 1.0 / rate : -Math.log(1.0 - random.rand) / rate
      end

      class Arrivals
        OPEN = %w[exponential constant].freeze
      end
    end
  end
end
