# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # What is asked of Active Record, where it is there.
      #
      # @private
      module Databases
        # @return [Boolean] whether this thread is inside a transaction
        def self.in_transaction?
          defined?(ActiveRecord) && ActiveRecord.respond_to?(:all_open_transactions) &&
            ActiveRecord.all_open_transactions.any?
        end
      end
    end
  end
end
