# frozen_string_literal: true

require_relative "../../report_limit"

module Tiercel
  module Store
    module Fetch
      # Log lines of `fetch` about blocks that are slow or store nothing.
      #
      # @private
      class Warnings
        # Maximum number of key prefixes that {#deleted} remembers. It logs nothing for further prefixes.
        MOST = 100
        private_constant :MOST

        # @param logger [#call] returns the store's Logger, or nil for Rails' logger
        def initialize(logger)
          @logger = logger
          @takeovers = ReportLimit.new
          @deleted = {}
          @lock = Mutex.new
        end

        # Logs that a lease was taken over: one line, and then none for a while.
        #
        # @param key [String]
        # @param lease_ttl [Float] seconds
        # @return [void]
        def takeover(key, lease_ttl)
          unreported = @takeovers.admit(:takeover) or return
          warn do
            others = "; #{unreported} more since the last such line" if unreported.positive?
            "Tiercel: took over the lease of #{key.inspect}: its holder has died, or its block takes longer than " \
              "lease_ttl (#{lease_ttl} s)#{others}"
          end
        end

        # Logs that a block has deleted its own key, so that its value is never stored. An example is a callback that
        # touches the record being rendered. Each process logs one line for each prefix of keys.
        #
        # @param key [String]
        # @return [void]
        def deleted(key)
          prefix = prefix_of(key)
          return unless first?(prefix)
          warn do
            "Tiercel: fetch stores nothing under keys that begin with #{prefix.inspect}: the block deletes its own " \
              "key (does it touch its record?), so every call runs the block again. Delete it before the fetch"
          end
        end

        private

        def warn(&)
          logger = @logger.call || (Rails.logger if defined?(Rails.logger))
          logger&.warn(&)
        end

        def first?(prefix)
          @lock.synchronize do
            next false if @deleted.key?(prefix) || @deleted.size >= MOST
            @deleted[prefix] = true
          end
        end

        # Returns the part of the key before the first digit, because identifiers, versions and digests follow it.
        def prefix_of(key)
          readable = key.dup.force_encoding(Encoding::UTF_8).scrub
          readable[/\A\D+/] || readable[0, 1].to_s
        end
      end
    end
  end
end
