# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # Counts consecutive fetches of this process that missed and stored a value. After {MANY} of them the next fetch
      # will probably miss too, so it reads and acquires the lease in one trip: see {FastPath::ReadAndTake}.
      #
      # Threads may overwrite each other's counts. The count is an estimate; it affects only the number of trips.
      #
      # @private
      class ConsecutiveMisses
        MANY = 3

        # @return [Integer] the count; 0 after a hit
        attr_accessor :count

        def initialize
          @count = 0
        end
      end
    end
  end
end
