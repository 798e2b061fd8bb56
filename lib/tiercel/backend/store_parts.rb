# frozen_string_literal: true

require_relative "../guard"

module Tiercel
  class Backend
    # The parts of a store that depend on its backend. These suit any backend; one that knows a shorter way overrides
    # them.
    #
    # @private
    module StoreParts
      # @param options [Hash] of {Guard#initialize}
      # @return [Guard] through which the store asks this backend
      def build_guard(**options) = Guard.new(self, **options)

      # @param guard [Guard]
      # @param coder [Coder]
      # @param frozen [Boolean] whether values of plain types come back deep-frozen
      # @param stale_if_error [Float, nil] seconds for which copies may answer while the backend behind them fails
      # @return [Accessor] how values get in and out
      def build_accessor(guard, coder, frozen: false, stale_if_error: nil) # rubocop:disable Lint/UnusedMethodArgument
        require_relative "../accessors/framed"
        Accessors::Framed.new(self, guard, coder, frozen:)
      end

      # @param guard [Guard]
      # @return [Leases]
      def build_leases(guard)
        require_relative "../leases"
        Leases.kept_under_keys(self, guard)
      end

      # @return [String, nil] the file in which all processes of this machine count what the cache does ({Account}); nil
      #   where each has figures of its own
      def account_path = nil

      # @param prefix [String, nil] of all keys of the store
      # @return [void]
      def prefix=(prefix); end
    end
  end
end
