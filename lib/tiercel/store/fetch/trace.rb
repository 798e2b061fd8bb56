# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # The steps of one `fetch` that missed, for its {Events}.
      #
      # @private
      class Trace
        # @return [Float] milliseconds that the call has waited for other callers
        attr_reader :waited
        # @return [Symbol, nil] the reason for computing a value although one exists: `:stale`, `:early`
        attr_accessor :reason
        # @return [Boolean] whether the block runs in the background
        attr_accessor :background
        # @return [Boolean] whether this call took the lease over from a holder that stored no value in time
        attr_accessor :takeover
        # @return [Boolean] whether the caller receives an expired value
        attr_accessor :stale
        # @return [Float, nil] the time limit that the call has reached, in seconds
        attr_accessor :timeout

        def initialize
          @waited = 0.0
        end

        # @return [Object] the block's value
        def waiting
          began = Clock.monotonic
          yield
        ensure
          @waited += (Clock.monotonic - began) * 1_000
        end

        # @return [Hash{Symbol => Object}] additions to Rails' payload of a `cache_fetch_hit`
        def of_hit = { stale:, waited: waited_for }.compact

        # @return [Hash{Symbol => Object}] additions to Rails' payload of a `cache_generate`
        def of_block = { waited: waited_for, takeover:, reason:, background: }.compact

        private

        def waited_for = @waited.positive? ? @waited.round(1) : nil
      end
    end
  end
end
