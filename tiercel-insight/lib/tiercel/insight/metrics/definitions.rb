# frozen_string_literal: true

module Tiercel
  module Metrics
    # One counter: a value of {Account#totals} and its name in each system.
    #
    # `name`: without prefix and unit; `figure`: the name in the account; `unit`: nil for a count, or :seconds;
    # `tags`: the constant tags of its values; `text`: its description.
    Definition = Struct.new(:name, :figure, :unit, :tags, :text) do
      # @return [Array<Symbol>] the names of its values' tags
      def tag_names = name.start_with?("tier_") ? [:tier, *tags.keys] : []
    end

    # Counters of the store.
    OF_STORE = [
      Definition.new(:hits, :hits, nil, {}, "Reads that found a value in some tier"),
      Definition.new(:misses, :misses, nil, {}, "Reads that found no value"),
      Definition.new(:blocks, :blocks, nil, {}, "Blocks of fetch that were run"),
      Definition.new(:block, :block_seconds, :seconds, {}, "Time that blocks of fetch took"),
      Definition.new(:lease_waits, :lease_waits, nil, {}, "Callers that waited for another process's block"),
      Definition.new(:lease_wait, :lease_wait_seconds, :seconds, {}, "Time that callers waited for other processes"),
      Definition.new(:lease_takeovers, :lease_takeovers, nil, {}, "Leases whose holder did not fill in time"),
      Definition.new(:stale_hits, :stale_hits, nil, {}, "Expired values that fetch returned"),
      Definition.new(:background_refreshes, :background_refreshes, nil, {}, "Values computed in the background"),
      Definition.new(:tag_invalidations, :tag_invalidations, nil, {}, "Calls that invalidated tags"),
      Definition.new(:failures, :failures, nil, {}, "Calls that failed in a backend"),
      Definition.new(:breaker_openings, :breaker_openings, nil, {}, "Times that the circuit breaker opened"),
    ].freeze

    # Counters of each tier.
    OF_TIER = [
      Definition.new(:tier_hits, :hits, nil, {}, "Reads that the tier answered"),
      Definition.new(:tier_misses, :misses, nil, {}, "Reads for which the tier had no value"),
      Definition.new(:tier_writes, :writes, nil, {}, "Values written into the tier"),
      Definition.new(:tier_deletes, :deletes, nil, {}, "Deletes in the tier"),
      *%w[small main expired bound index other].map do |reason|
        Definition.new(:tier_evictions, :"#{reason}_evictions", nil, { reason: }, "Evicted entries, by reason")
      end,
      Definition.new(:tier_resets, :resets, nil, {}, "Parts of the segment that were emptied after damage"),
      Definition.new(:tier_lock_takeovers, :lock_takeovers, nil, {}, "Segment locks taken over from dead processes"),
    ].freeze

    # The counters that a monitoring system declares: each name once.
    DECLARED = [*OF_STORE, *OF_TIER.uniq(&:name)].freeze
  end
end
