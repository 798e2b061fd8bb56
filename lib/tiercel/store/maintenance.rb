# frozen_string_literal: true

require_relative "../key_pattern"
require_relative "glob"

module Tiercel
  module Store
    # Operations on the whole cache: clear, cleanup, deletion by pattern, statistics, close.
    module Maintenance
      # Clears the cache. With a namespace (of the store or of this call) it deletes only the keys of the namespace.
      # Without a namespace it deletes everything in the backend, including the entries of other programs.
      #
      # @param options [Hash, nil] `namespace`
      # @return [nil]
      def clear(options = nil)
        prefix = key_prefix(merged_options(options))
        @settings.accessor.clear(prefix)
        nil
      end

      # Deletes expired entries, if the backend does not do this by itself.
      #
      # @param options [Hash, nil] ignored; accepted for compatibility with Rails
      # @return [Integer, nil] number of deleted entries; nil if the backend failed
      def cleanup(options = nil)
        size = @settings.accessor.stats(:cleanup)&.[](:entries)
        instrument(:cleanup, nil, { size: size }) { @settings.accessor.cleanup }
      end

      # Deletes the entries whose keys match. Rails replaces the end of a key that is too long by a digest, so a pattern
      # for this end does not match.
      #
      # @param matcher [Regexp, String] a Regexp, or a glob as in Redis (`*`, `?`, `[a-z]`, `[^a]`, `\`)
      # @param options [Hash, nil] `namespace`
      # @return [Integer, nil] number of deleted entries; nil if the backend failed
      # @raise [ArgumentError] if the matcher is neither a Regexp nor a String
      def delete_matched(matcher, options = nil)
        options = merged_options(options)
        regexp, prefix = pattern_for(matcher, options)
        instrument(:delete_matched, matcher.is_a?(Regexp) ? regexp.inspect : matcher) do
          @settings.accessor.delete_matching(KeyPattern.new(prefix, regexp))
        end
      end

      # Returns the backend's figures: :entries, :bytes and others, which depend on the backend. A segment counts the
      # :hits, :misses, :writes and :deletes of all its processes; a server counts those of its clients. Tiers have
      # their figures under :tiers. :failures and :breaker_openings count this process alone. tiercel-insight counts
      # every store in the same way, and measures what misses cost.
      #
      # @return [Hash{Symbol => Object}, nil] nil if the backend failed
      def stats
        figures = @settings.accessor.stats || @settings.backend.stats_while_away or return
        { **figures, failures: @settings.guard.failures, breaker_openings: @settings.guard.breaker_openings,
          **@settings.fetch.stats }
      end

      # Subscribes this process to the invalidation messages of other machines at once. Otherwise a process subscribes
      # at its first near miss. Use it for a store with tiers over Redis, in an idle process such as Puma's master: it
      # then listens for all processes that share its `shared:` tier, even while they are busy. Returns without waiting.
      # Has no effect if the process already listens; `stats` shows whether it does. A forked child has to call it
      # again.
      #
      # @return [Boolean] whether the store has a bus, which delivers these messages
      def listen = @settings.backend.listen

      # Closes the backend's connections, descriptors and threads. The next call of the store opens them again.
      #
      # @return [void]
      def close
        @settings.leases&.close
        @settings.backend.close
        nil
      end

      private

      def pattern_for(matcher, options)
        case matcher
        when Regexp then [key_matcher(matcher, options), key_prefix(options)]
        when String
          glob = Glob.new("#{Glob.escape(key_prefix(options).to_s)}#{matcher}")
          [glob.regexp, glob.literal_prefix]
        else
          raise ArgumentError, "delete_matched: expected a Regexp or a glob String, got #{matcher.inspect}"
        end
      end
    end
  end
end
