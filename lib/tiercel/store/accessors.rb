# frozen_string_literal: true

require_relative "accessors/framed"
require_relative "accessors/request_local"
require_relative "accessors/tiered"

module Tiercel
  module Store
    # How values and bytes get in and out of what keeps them. {Accessor} is the contract; each class here is one way:
    #
    # - {Framed}: through any backend, a frame at a time
    # - {Native}: through a segment, which knows the frame of a plain String
    # - {Frozen}: the same for values that come back deep-frozen, each decoded once per process while it is kept
    # - {Tiered}: through several tiers, of which the nearest is a segment
    # - {RequestLocal}: in front of another accessor, what the request at hand has seen already
    module Accessors
      # @param backend [Backend]
      # @param guard [Guard]
      # @param coder [Coder]
      # @param frozen [Boolean] whether values of plain types come back deep-frozen
      # @return [Accessor]
      def self.for(backend, guard, coder, frozen: false)
        return Tiered.new(backend, guard, coder, frozen: frozen) if backend.is_a?(Tiers)
        return Framed.new(backend, guard, coder, frozen: frozen) unless backend.respond_to?(:segment)
        require_relative "accessors/frozen"
        (frozen ? Frozen : Native).new(backend, guard, coder)
      end
    end
  end
end
