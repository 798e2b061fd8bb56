# frozen_string_literal: true

module Tiercel
  # Reports handled failures to the application's error reporter; callers do not see these failures.
  #
  # @private
  module Reports
    # The source of the reports, for subscribers.
    SOURCE = "tiercel.active_support"

    # @param error [Exception]
    # @param context [Hash{Symbol => Object}]
    # @return [void]
    def self.handled(error, **context)
      reporter = ActiveSupport.error_reporter if defined?(ActiveSupport) && ActiveSupport.respond_to?(:error_reporter)
      reporter&.report(error, handled: true, severity: :warning, source: SOURCE, context:)
    end
  end
end
