# frozen_string_literal: true

require_relative "../check"

module Tiercel
  class Doctor
    module Checks
      # Are there deletes that the last tier has not received yet?
      class Journal < Check
        private

        def examine
          return unless subject.tiercel? && subject.store.backend.tiered?
          return sound("the last tier has received every delete") unless subject.store.backend.pending?
          found("the journal holds deletes that the last tier has not received: other machines may read old values",
                fix: "restore #{subject.last}; the deletes are then repeated")
        end
      end
    end
  end
end
