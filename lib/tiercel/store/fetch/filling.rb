# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # A value on its way from a block into the place of a lease. Where that way leads through Rails' own `write`, the
      # filling is kept with the fiber meanwhile, so that any store's or agent's `write` may stand between.
      #
      # @private
      class Filling
        CURRENT = :tiercel_filling
        private_constant :CURRENT

        # @return [String]
        attr_reader :key
        # @return [Leases::Lease, nil] nil where nothing may be stored
        attr_reader :lease
        # @return [Flight] in which the value was computed
        attr_reader :flight

        # @return [Account, nil] of the call that it is for
        attr_reader :account

        def initialize(key, lease, flight, account = nil)
          @key = key
          @account = account
          @lease = lease
          @flight = flight
          @stored = false
        end

        # @return [Filling, nil] on whose way the code at hand is
        def self.current = Thread.current[CURRENT]

        # @param key [String]
        # @return [Filling, nil] the one that the write at hand is for
        def self.of(key)
          current = Thread.current[CURRENT]
          current if current && (current.key == key || current.key.b == key.b)
        end

        # @return [Object] the block's value
        def run(&) = with(self, &)

        # Runs code of the application's within {#run}: what it writes under the key is its own.
        #
        # @return [Object] the block's value
        def aside(&) = with(nil, &)

        # @return [Boolean]
        def stored? = @stored

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
