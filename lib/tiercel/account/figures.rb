# frozen_string_literal: true

module Tiercel
  class Account
    # The names of all figures, and the place of each in the file. A released number is never reused, so new names go to
    # the end.
    #
    # @private
    module Figures
      # The counters of the store's calls. `*_ns` are durations.
      STORE = %i[misses local_hits blocks block_ns lease_waits lease_wait_ns stale_hits
                 lease_takeovers background_refreshes early_refreshes timeouts tag_invalidations failures
                 breaker_openings].freeze
      # The counters of a tier.
      TIER = %i[hits misses small_evictions main_evictions expired_evictions bound_evictions index_evictions
                other_evictions resets lock_takeovers writes deletes].freeze
      EVICTIONS = TIER[2..7].freeze

      MOST_TIERS = 4
      STORE_ROOM = 20
      TIER_ROOM = 12
      # The number of figures: those of the store, then those of each tier.
      COUNT = STORE_ROOM + (MOST_TIERS * TIER_ROOM)

      # @param name [Symbol] one of {STORE}
      # @return [Integer]
      def self.of_store(name) = STORE.index(name) || raise(KeyError, "unknown figure #{name.inspect}")

      PLACES = TIER.each_with_index.to_h.freeze
      private_constant :PLACES

      # @param tier [Integer] 0 is the nearest
      # @param name [Symbol] one of {TIER}
      # @return [Integer]
      def self.of_tier(tier, name) = STORE_ROOM + (tier * TIER_ROOM) + PLACES.fetch(name)

      # @param index [Integer] the place of a figure
      # @return [Boolean] whether the tier counts the figure itself, without a call of the account
      def self.spread?(index)
        index >= STORE_ROOM && TIER[(index - STORE_ROOM) % TIER_ROOM] != :misses
      end

      # @param figures [Array<Integer>] {COUNT} of them
      # @param tiers [Array<String>] the names of the tiers
      # @return [Hash{Symbol => Object}]
      def self.named(figures, tiers)
        of_tiers = tiers.each_with_index.to_h do |tier, index|
          [tier, TIER.zip(figures[STORE_ROOM + (index * TIER_ROOM), TIER_ROOM]).to_h]
        end
        of_tiers.each_value { |tier| tier[:evictions] = tier.values_at(*EVICTIONS).sum }
        of_store = in_seconds(STORE.zip(figures).to_h)
        { hits: of_tiers.each_value.sum { |tier| tier[:hits] } + of_store[:local_hits], **of_store,
          **of_tiers.values.last.slice(:writes, :deletes, :evictions), tiers: of_tiers }
      end

      def self.in_seconds(figures)
        figures.to_h do |name, figure|
          name.end_with?("_ns") ? [:"#{name.to_s.delete_suffix("_ns")}_seconds", figure / 1e9] : [name, figure]
        end
      end
      private_class_method :in_seconds
    end
  end
end
