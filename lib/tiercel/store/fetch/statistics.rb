# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # What `fetch` has done in this process, for {Maintenance#stats}.
      #
      # @private
      class Statistics
        NAMES = %i[stale_hits lease_waits lease_takeovers background_refreshes early_refreshes timeouts
                   tag_invalidations].freeze

        # @param account [Account] that is told, too
        def initialize(account)
          @account = account
          @mutex = Mutex.new
          @counts = NAMES.to_h { |name| [name, 0] }
        end

        # @param name [Symbol] one of {NAMES}
        # @return [Integer]
        def count(name)
          @account.count(name)
          @mutex.synchronize { @counts[name] += 1 }
        end

        # @return [Hash{Symbol => Integer}]
        def to_h = @mutex.synchronize { @counts.dup }
      end
    end
  end
end
