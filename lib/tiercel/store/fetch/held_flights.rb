# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # The flights whose blocks are running around the code at hand. They travel in fiber storage, which threads,
      # fibers and enumerators inherit: what is fetched in a thread of a block is fetched within that block.
      #
      # @private
      module HeldFlights
        STORAGE = :tiercel_flights
        NONE = [].freeze
        private_constant :STORAGE, :NONE

        module_function

        # @return [Array<Flight>]
        def flights
          held = Fiber[STORAGE] or return NONE
          held.select(&:live?)
        end

        # @param backend [Backend]
        # @yieldparam flight [Flight] of that key there
        # @return [void]
        def each_of(backend, key)
          Fiber[STORAGE]&.each { |flight| yield flight if flight.of?(backend, key) && flight.live? }
        end

        # @param flight [Flight]
        # @yieldparam outermost [Boolean] whether no other is held
        # @return [Object] the block's value
        def with(flight)
          before = Fiber[STORAGE]
          Fiber[STORAGE] = before ? [*flights, flight].freeze : [flight].freeze
          yield before.nil?
        ensure
          Fiber[STORAGE] = before
        end

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
