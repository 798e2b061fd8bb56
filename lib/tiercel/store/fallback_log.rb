# frozen_string_literal: true

module Tiercel
  module Store
    # Logs once which features `fetch` lacks when Rails' own methods run instead of this library's.
    #
    # @private
    class FallbackLog
      # @param logger [#call] returns the store's Logger, or nil for Rails' logger
      def initialize(logger)
        @logger = logger
        @warned = false
      end

      # @param patched [Array<Symbol>] the patched methods; empty if the reason is a custom coder
      # @return [void]
      def warn(patched)
        return if @warned
        @warned = true
        logger = @logger.call || (Rails.logger if defined?(Rails.logger))
        logger&.warn do
          cause = patched.empty? ? "the store has a coder: of its own" : "#{patched.join(", ")} are patched"
          "Tiercel: #{cause}, so Rails' own methods run. fetch and fetch_multi take no leases: callers that miss at " \
            "the same time all run their blocks, and stale values have no effect"
        end
      end
    end
  end
end
