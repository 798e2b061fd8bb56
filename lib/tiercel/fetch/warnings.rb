# frozen_string_literal: true

module Tiercel
  class Fetch
    # Log lines of `fetch` about blocks that are slow or store nothing. The lines show only the kind of a key
    # ({KeyMask}).
    #
    # @private
    class Warnings
      # Maximum number of kinds of keys that {#deleted} remembers. It logs nothing for further kinds.
      MOST = 100
      private_constant :MOST

      # @param logger [#call] returns the store's Logger, or nil for Rails' logger
      def initialize(logger)
        @logger = logger
        @takeovers = ReportLimit.new
        @deleted = {}
        @lock = Mutex.new
      end

      # Logs that a lease was taken over. Further takeovers are only counted for a while.
      def takeover(key, lease_ttl)
        unreported = @takeovers.admit(:takeover) or return
        warn do
          others = "; #{unreported} more since the last such line" if unreported.positive?
          "Tiercel: took over the lease of #{KeyMask.of(key)}: its holder has died, or " \
            "its block takes longer than lease_ttl (#{lease_ttl} s)#{others}"
        end
      end

      # Logs that a block has deleted its own key, so that its value is never stored. A callback, for example, touches
      # the record that is rendered. Each process logs one line for each kind of keys.
      def deleted(key)
        kind = KeyMask.of(key)
        return unless first?(kind)
        warn do
          "Tiercel: fetch stores nothing under #{kind}: the block deletes its own " \
            "key (does it touch its record?), so every call runs the block again. Delete it before the fetch"
        end
      end

      private

      def warn(&)
        logger = @logger.call || (Rails.logger if defined?(Rails.logger))
        logger&.warn(&)
      end

      def first?(kind)
        @lock.synchronize do
          next false if @deleted.key?(kind) || @deleted.size >= MOST
          @deleted[kind] = true
        end
      end
    end
  end
end
