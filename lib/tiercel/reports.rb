# frozen_string_literal: true

module Tiercel
  # Reports handled failures to the application's error reporter; callers do not see these failures.
  #
  # @private
  module Reports
    # The source of the reports, for subscribers.
    SOURCE = "tiercel.active_support"

    # @param error [Exception]
    # @param context [Hash{Symbol => Object}] `key:` is masked
    # @param log_keys [Boolean] whether the key itself is shown
    # @return [void]
    def self.handled(error, log_keys: false, **context)
      context[:key] = KeyMask.of(context[:key]) if context[:key] && !log_keys
      reporter = ActiveSupport.error_reporter if defined?(ActiveSupport) && ActiveSupport.respond_to?(:error_reporter)
      reporter&.report(error, handled: true, severity: :warning, source: SOURCE, context:)
    end
  end
end
