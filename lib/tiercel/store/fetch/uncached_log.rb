# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # Warns of blocks that delete their own key, as a callback does that touches the record being rendered: nothing
      # that such a block returns is ever stored. One line for each prefix of keys in a process.
      #
      # @private
      class UncachedLog
        # Prefixes that are remembered; further ones are not logged.
        MOST = 100
        private_constant :MOST

        # @param logger [#call] gives the Logger of the store, or nil: then it is that of Rails
        def initialize(logger)
          @logger = logger
          @warned = {}
          @lock = Mutex.new
        end

        # @param key [String]
        # @return [void]
        def warn(key)
          prefix = prefix_of(key)
          return unless first?(prefix)
          logger = @logger.call || (Rails.logger if defined?(Rails.logger))
          logger&.warn do
            "Tiercel: fetch stores nothing under keys that begin with #{prefix.inspect}: the block deletes its own " \
              "key (does it touch its record?), so every call runs the block again. Delete it before the fetch"
          end
        end

        private

        def first?(prefix)
          @lock.synchronize do
            next false if @warned.key?(prefix) || @warned.size >= MOST
            @warned[prefix] = true
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
