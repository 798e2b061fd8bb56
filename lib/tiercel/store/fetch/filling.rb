# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # A value on its way from a block into the place of a lease. Where that way leads through Rails' own `write`, the
      # filling is kept with the fiber meanwhile, so that any store's or agent's `write` may stand between. The first
      # write of the key into the flight's own backend is the fill. Every other write is a write.
      #
      # @private
      class Filling
        CURRENT = :tiercel_filling
        private_constant :CURRENT

        # @return [Leases::Lease, nil] nil where nothing may be stored
        attr_reader :lease
        # @return [Flight] in which the value was computed
        attr_reader :flight

        # @return [Account, nil] of the call that it is for
        attr_reader :account

        def initialize(lease, flight, account = nil)
          @account = account
          @lease = lease
          @flight = flight
          @stored = nil
        end

        # @return [String]
        def key = @flight.key

        # @return [Filling, nil] on whose way the code at hand is
        def self.current = Thread.current[CURRENT]

        # @param backend [Backend] that is written to
        # @param key [String]
        # @return [Filling, nil] the one that the write at hand is for
        def self.of(backend, key)
          current = Thread.current[CURRENT]
          current if current&.for?(backend, key)
        end

        # @return [Boolean] whether a write of that key is this one's, which has not come yet
        def for?(backend, key)
          @stored.nil? && @flight.of?(backend, key)
        end

        # @return [Object] the block's value
        def run(&) = with(self, &)

        # Runs code of the application's within {#run}: what it writes under the key is its own.
        #
        # @return [Object] the block's value
        def aside(&) = with(nil, &)

        # @return [Boolean]
        def stored? = @stored || false

        # @param stored [Boolean, nil]
        # @return [Boolean, nil]
        def done(stored)
          @stored = stored ? true : false
          stored
        end

        private

        def with(filling)
          before = Thread.current[CURRENT]
          Thread.current[CURRENT] = filling
          yield
        ensure
          Thread.current[CURRENT] = before
        end
      end
    end
  end
end
