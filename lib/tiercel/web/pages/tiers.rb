# frozen_string_literal: true

require_relative "../page"

module Tiercel
  class Web
    module Pages
      # The numbers of each tier, nearest first.
      #
      # @private
      class Tiers < Page
        page "Tiers", "tiers"
        # Numbers that the card shows separately.
        OWN = %i[hits misses entries bytes log_bytes size_bytes tiers].freeze
        BYTES = /bytes\z/
        private_constant :OWN, :BYTES

        private

        # @return [Array<Array(String, Hash)>] names and numbers
        def tiers
          @tiers ||= begin
            stats = ask { tiercel? ? store.stats : nil } || {}
            of_tiers = stats[:tiers] || (stats.empty? ? {} : { store.backend.to_s => stats })
            of_tiers.map { |name, figures| [name, figures || {}] }
          end
        end

        def position(index)
          return "the only tier" if tiers.one?
          index.zero? ? "nearest" : (index == tiers.size - 1 ? "last: has all entries" : "tier #{index + 1}")
        end

        def ratio(figures)
          hits, misses = figures.values_at(:hits, :misses).map(&:to_i)
          reads = hits + misses
          [hits.fdiv(reads), percent(hits, reads)] if reads.positive?
        end

        def room(figures)
          used, whole = figures[:bytes], figures[:log_bytes] || figures[:size_bytes]
          return unless used
          [whole && used.fdiv(whole), whole ? "#{bytes(used)} of #{bytes(whole)}" : bytes(used)]
        end

        def others(figures)
          figures.except(*OWN).flat_map do |name, value|
            next value.map { |inner, one| ["#{name} #{inner}", one] } if value.is_a?(Hash)
            [[name, value]]
          end.map { |name, value| [name.to_s.tr("_", " "), shown(name, value)] }
        end

        def shown(name, value)
          return bytes(value) if value.is_a?(Integer) && name.match?(BYTES)
          value.is_a?(Integer) ? number(value) : text(value.is_a?(Float) ? value.round(3) : value)
        end
      end
    end
  end
end
