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

      # Returns the backend's :entries, :bytes and other figures, and the figures of the {#account} (:hits, :misses,
      # :writes, :blocks...). :scope says whether they count all processes of this machine or this process alone. A hit
      # in a near tier counts as a hit. A store with tiers adds :tiers, the figures of each tier.
      #
      # @return [Hash{Symbol => Object}, nil] nil if the backend failed. If the last of several tiers failed, :tiers has
      #   the figures of the near tiers
      def stats
        of_backend = @settings.accessor.stats || @settings.backend.stats_while_away or return
        totals = @settings.account.totals
        tiers = of_backend[:tiers]&.to_h do |name, figures|
          [name, figures && with_account(figures, totals[:tiers].fetch(name, {}))]
        end
        with_account(of_backend, totals.except(:host, :since, :tiers)).merge({ tiers: }.compact)
      end

      # @return [Account] counts hits, misses and their cost: in total, by minute, and by class of keys. The processes
      #   of this machine share an account if they have a place for it
      def account = @settings.account

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

      # A server counts its own evictions, so the larger of both numbers is used.
      def with_account(figures, counted)
        figures.merge(counted) { |name, known, count| name == :evictions ? [known, count].max : count }
      end

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
