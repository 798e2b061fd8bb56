# frozen_string_literal: true

require "etc"

require_relative "figures"

module Tiercel
  class Account
    # The figures of an account, for those who read them: totals, minutes and classes of keys.
    module Reading
      DAY_MINUTES = 1_440
      private_constant :DAY_MINUTES

      # @return [Symbol] :machine if all processes of the machine count together, :process if the figures belong to this
      #   process alone
      def scope = book.scope

      # @return [String, nil] the path of the account's file; nil if it has none
      def path = book.path

      # All counts since the account began. Durations are in `*_seconds`.
      #
      # - `scope`, `host`, `since` (epoch seconds)
      # - `hits`, `misses`: of reads, fetches, `exist?` and the names of multi reads. A hit in any tier is one hit.
      # - `writes`, `deletes`, `evictions`: of the last tier
      # - `local_hits`: the hits that Rails' request-local cache answered
      # - `blocks`, `block_seconds`: the blocks of `fetch` that ran, and their duration
      # - `lease_waits`, `lease_wait_seconds`, `lease_takeovers`, `stale_hits`, `background_refreshes`,
      #   `early_refreshes`, `timeouts`, `tag_invalidations`
      # - `failures`, `breaker_openings`: the calls that the backend failed, and the times that the breaker opened
      # - `tiers`: by name, nearest first: `hits`, `misses`, `writes`, `deletes`, `evictions`, the evictions by reason
      #   (`small_evictions`, `main_evictions`, `expired_evictions`, `bound_evictions`, `index_evictions`,
      #   `other_evictions`), `resets`, `lock_takeovers`
      #
      # @return [Hash{Symbol => Object}]
      def totals
        { scope:, host: Etc.uname[:nodename], since: book.since, **Figures.named(figures, @names) }
      end

      # The counts of this process alone since it started or was forked: as {#totals}, without `scope` and `host`.
      # The sum over all processes is the machine's.
      #
      # @return [Hash{Symbol => Object}]
      def own = Figures.named(own_figures, @names)

      # The last minutes one by one, oldest first; the last element is the present minute. A minute without a call has
      # zeros.
      #
      # @param count [Integer] 1 to 1,440
      # @return [Array<Hash{Symbol => Object}>] `at` (epoch seconds of the minute's beginning) and the figures of
      #   {#totals}
      def minutes(count = DAY_MINUTES)
        rounds.minutes(count.clamp(1, DAY_MINUTES), now).map do |minute, figures|
          { at: minute * 60, **Figures.named(figures, @names) }
        end
      end

      # The classes of keys, most expensive misses first. Keys that share no part with other keys form the class `*`,
      # which comes last.
      #
      # - `name`, `misses`; `seconds`: the duration of the class's blocks; `hits`: estimated from a sample
      # - `longest_seconds`: the duration of the longest block
      # - `total_misses`, `total_seconds`: the same since the account first recorded the class
      # - `inherited_seconds`: the largest possible error of the class's rank (Space-Saving)
      #
      # @param period [Symbol] :hour or :day
      # @param limit [Integer] the largest number of classes
      # @return [Array<Hash{Symbol => Object}>]
      # @raise [ArgumentError] for another period
      def classes(period = :day, limit: 1_000)
        return rounds.classes(period, limit, now) if %i[hour day].include?(period)
        raise ArgumentError, "period: expected :hour or :day, got #{period.inspect}"
      end

      private

      # @param keep [Boolean] also stores the tiers' own figures; the caller holds the account's lock
      def figures(keep: false)
        counters = book.counters
        @counting.each { |tier| tier.keep_up(counters, FIGURES_AT) } if keep
        figures = Array.new(Figures::COUNT) { |index| counters.load(FIGURES_AT + index) }
        @counting.each { |tier| tier.add_to(figures) }
        figures
      end

      def own_figures
        counters = book.counters
        figures = Array.new(Figures::COUNT) { |index| counters.own(FIGURES_AT + index) }
        @counting.each { |tier| tier.add_own_to(figures) }
        figures
      end
    end
  end
end
