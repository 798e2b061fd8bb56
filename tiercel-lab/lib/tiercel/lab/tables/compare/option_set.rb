# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Compare
        # A store with its options.
        class OptionSet < Side
          # @param contestant [Contestant]
          def initialize(contestant)
            super()
            @contestant = contestant
          end

          def text = @contestant.text

          def kind = "a store"

          def fingerprint = [@contestant.class, @contestant.place, @contestant.options]

          def sameness = "these are the same store with the same options"

          # The side itself is the store.
          def stores = [text]

          def contestant(_store, again: false) = @contestant
        end
      end
    end
  end
end
