# frozen_string_literal: true

require_relative "../../report_limit"

module Tiercel
  module Store
    module Fetch
      # Warns of leases that were taken over: their holders have died, or their blocks take longer than `lease_ttl`. One
      # line, and then none for a while.
      #
      # @private
      class TakeoverLog
        # @param logger [#call] gives the Logger of the store, or nil: then it is that of Rails
        def initialize(logger)
          @logger = logger
          @limit = ReportLimit.new
        end

        # @param key [String]
        # @param lease_ttl [Float] seconds
        # @return [void]
        def warn(key, lease_ttl)
          unreported = @limit.admit(:takeover) or return
          logger = @logger.call || (Rails.logger if defined?(Rails.logger))
          logger&.warn do
            others = "; #{unreported} more since the last such line" if unreported.positive?
            "Tiercel: took over the lease of #{key.inspect}: its holder has died, or its block takes longer than " \
              "lease_ttl (#{lease_ttl} s)#{others}"
          end
        end
      end
    end
  end
end
