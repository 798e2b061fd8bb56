# frozen_string_literal: true

require_relative "../guard"

module Tiercel
  class Backend
    # The parts of a store that depend on its backend. This default works for every backend; a backend with a faster
    # path overrides it.
    #
    # @private
    module StoreParts
      # @param options [Hash] see {Guard#initialize}
      # @return [Guard] the guard for all calls of the store to this backend
      def build_guard(**options) = Guard.new(self, **options)

      # @param guard [Guard]
      # @param coder [Coder]
      # @param frozen [Boolean] whether values of plain types are returned deep-frozen
      # @param stale_if_error [Float, nil] seconds for which near copies may be served while the backend behind them
      #   fails
      # @return [Accessor] reads and writes values
      def build_accessor(guard, coder, frozen: false, stale_if_error: nil) # rubocop:disable Lint/UnusedMethodArgument
        require_relative "../accessor"
        Accessor.new(self, guard, coder, frozen:)
      end

      # @param guard [Guard]
      # @return [Leases]
      def build_leases(guard)
        require_relative "../leases"
        Leases.kept_under_keys(self, guard)
      end

      # @param prefix [String, nil] the common prefix of all keys of the store
      # @return [void]
      def prefix=(prefix); end
    end
  end
end
