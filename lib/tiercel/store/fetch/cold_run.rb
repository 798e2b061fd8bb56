# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # How many fetches of this process have found nothing, one after the other, and stored what their blocks gave. In
      # a run of them the next one will hardly find anything either: its read and its take are one trip, see
      # {FastPath::ReadAndTake}.
      #
      # Threads may overwrite each other's counts: this is a guess, and no answer depends on it.
      #
      # @private
      class ColdRun
        # So many make a run.
        LENGTH = 3
        private_constant :LENGTH

        def initialize
          @length = 0
        end

        # @return [Boolean]
        def long? = @length >= LENGTH

        # @return [void]
        def longer
          @length += 1
        end

        # Something was there.
        #
        # @return [void]
        def over
          @length = 0
        end
      end
    end
  end
end
