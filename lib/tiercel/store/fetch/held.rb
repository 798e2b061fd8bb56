# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # The flights whose blocks are running around the code at hand. They travel in fiber storage, which threads,
      # fibers and enumerators inherit: what is fetched in a thread of a block is fetched within that block.
      #
      # @private
      module Held
        STORAGE = :tiercel_flights
        private_constant :STORAGE

        module_function

        # @return [Array<Flight>]
        def flights
          held = Fiber[STORAGE] or return []
          held.select(&:live?)
        end

        # @param flight [Flight]
        # @return [Object] the block's value
        def with(flight, &) = with_all([flight], &)

        # @param own [Array<Flight>]
        # @return [Object] the block's value
        def with_all(own)
          before = Fiber[STORAGE]
          Fiber[STORAGE] = [*flights, *own].freeze
          yield
        ensure
          Fiber[STORAGE] = before
        end
      end
    end
  end
end
