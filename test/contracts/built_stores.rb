# frozen_string_literal: true

module Tiercel
  module Contracts
    # The stores of one test; each is closed after it. The including class defines `build_store(**options)`.
    #
    # @private
    module BuiltStores
      # @return [ActiveSupport::Cache::TiercelStore] the store under test
      def store = @store ||= new_store

      def after_teardown
        @built&.each(&:close)
        @built = @store = nil
        super
      end

      private

      def new_store(**options) = closed_later(build_store(**options))

      # @return [ActiveSupport::Cache::TiercelStore] the same store
      def closed_later(store) = store.tap { (@built ||= []) << store }
    end
  end
end
