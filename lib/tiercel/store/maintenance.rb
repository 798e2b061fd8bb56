# frozen_string_literal: true

require_relative "../key_pattern"
require_relative "glob"

module Tiercel
  module Store
    # Operations on the cache as a whole: clear, clean up, delete by pattern,
    # statistics, closing.
    module Maintenance
      # Empties the cache. With a namespace (of the store or of this call) only
      # its keys go; without one everything in the backend does, whoever wrote it.
      #
      # @param options [Hash, nil] `namespace`
      # @return [nil]
      def clear(options = nil)
        prefix = key_prefix(merged_options(options))
        @settings.accessor.clear(prefix)
        nil
      end

      # Gives back the room of entries that have ended, where the backend does
      # not do so by itself.
      #
      # @param options [Hash, nil] taken for Rails' sake
      # @return [Integer, nil] how many were removed
      def cleanup(options = nil)
        size = @settings.accessor.stats(:cleanup)&.[](:entries)
        instrument(:cleanup, nil, { size: size }) { @settings.accessor.cleanup }
      end

      # Deletes the entries whose key matches. Keys that were too long end in a
      # digest, so a pattern for their tail does not find them.
      #
      # @param matcher [Regexp, String] a Regexp, or a glob as in Redis (`*`, `?`, `[a-z]`, `[^a]`, `\`)
      # @param options [Hash, nil] `namespace`
      # @return [Integer, nil] how many were deleted; nil where the backend failed
      # @raise [ArgumentError] for another matcher
      def delete_matched(matcher, options = nil)
        options = merged_options(options)
        regexp, prefix = pattern_for(matcher, options)
        instrument(:delete_matched, matcher.is_a?(Regexp) ? regexp.inspect : matcher) do
          @settings.accessor.delete_matching(KeyPattern.new(prefix, regexp))
        end
      end

      # The backend's :entries, :bytes and more, with the figures of the {#account} (:hits, :misses,
      # :writes, :blocks...), which :scope tells to be those of all processes of this machine or of this process alone.
      # Hits of a near tier are hits. Of tiers :tiers has the figures of each.
      #
      # @return [Hash{Symbol => Object}, nil] nil where the backend failed. Of tiers whose last one failed :tiers, with
      #   what is known of the near ones
      def stats
        of_backend = @settings.accessor.stats || @settings.backend.stats_while_away or return
        totals = @settings.account.totals
        tiers = of_backend[:tiers]&.to_h do |name, figures|
          [name, figures && with_account(figures, totals[:tiers].fetch(name, {}))]
        end
        with_account(of_backend, totals.except(:host, :since, :tiers)).merge({ tiers: }.compact)
      end

      # @return [Account] hits, misses and what they cost, of all processes of this machine where they share a place:
      #   totals, minute by minute, and by class of keys
      def account = @settings.account

      # Has this process listen to the bus of tiers over Redis, at once and not from its first read on that misses near.
      # An idle process that listens (Puma's master, a console) does so for all that share its `shared:`, where those
      # are busy. Never waits, and does nothing where it listens already; `stats` tells whether it does. A forked child
      # is to call it again.
      #
      # @return [Boolean] whether there is a bus, so that this process is told of what other machines change
      def listen = @settings.backend.listen

      # Gives back the backend's connections, descriptors and threads. The store
      # can be used again.
      #
      # @return [void]
      def close
        @settings.leases&.close
        @settings.backend.close
        nil
      end

      private

      # A server knows its evictions better.
      def with_account(figures, counted)
        figures.merge(counted) { |name, known, count| name == :evictions ? [known, count].max : count }
      end

      def pattern_for(matcher, options)
        case matcher
        when Regexp then [key_matcher(matcher, options), key_prefix(options)]
        when String
          glob = Glob.new("#{key_prefix(options)&.gsub(/[*?\[\]\\]/) { |char| "\\#{char}" }}#{matcher}")
          [glob.regexp, glob.literal_prefix]
        else
          raise ArgumentError, "delete_matched: expected a Regexp or a glob String, got #{matcher.inspect}"
        end
      end
    end
  end
end
