# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # How many fetches of this process have missed and stored a value, one after the other. After {MANY} the next one
      # will hardly hit either: so it reads and acquires the lease in one trip, see {FastPath::ReadAndTake}.
      #
      # Threads may overwrite each other's counts: this is a guess, and no answer depends on it.
      #
      # @private
      class ConsecutiveMisses
        MANY = 3

        # @return [Integer] 0 after a read that has found something
        attr_accessor :count

        def initialize
          @count = 0
        end
      end
    end
  end
end
