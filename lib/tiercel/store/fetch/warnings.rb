# frozen_string_literal: true

require_relative "../../report_limit"

module Tiercel
  module Store
    module Fetch
      # Log lines of `fetch` about blocks that are slow or store nothing.
      #
      # @private
      class Warnings
        # Prefixes of keys that {#deleted} remembers; it logs no further ones.
        MOST = 100
        private_constant :MOST

        # @param logger [#call] returns the store's Logger, or nil: then Rails' logger is used
        def initialize(logger)
          @logger = logger
          @takeovers = ReportLimit.new
          @deleted = {}
          @lock = Mutex.new
        end

        # A lease was taken over. One line is logged, and then none for a while.
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

        # A block has deleted its own key, as a callback does that touches the record being rendered: so its value is
        # never stored. One line is logged for each prefix of keys in a process.
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

        # Up to the first digit: identifiers, versions and digests come after it.
        def prefix_of(key)
          readable = key.dup.force_encoding(Encoding::UTF_8).scrub
          readable[/\A\D+/] || readable[0, 1].to_s
        end
      end
    end
  end
end
