# frozen_string_literal: true

module Tiercel
  module Store
    # Says once what `fetch` lacks where Rails' own methods run in place of this library's.
    #
    # @private
    class FallbackLog
      # @param logger [#call] gives the Logger of the store, or nil: then it is that of Rails
      def initialize(logger)
        @logger = logger
        @warned = false
      end

      # @param patched [Array<Symbol>] the methods that are not this library's; none where the coder is not
      # @return [void]
      def warn(patched)
        return if @warned
        @warned = true
        logger = @logger.call || (Rails.logger if defined?(Rails.logger))
        logger&.warn do
          cause = patched.empty? ? "the store has a coder: of its own" : "#{patched.join(", ")} are patched"
          "Tiercel: #{cause}, so Rails' own methods run. fetch and fetch_multi take no leases: callers that miss at " \
            "the same time all run their blocks, and stale values, early_refresh: and timeout: have no effect"
        end
      end
    end
  end
end
