# frozen_string_literal: true

# Reports handled failures to the application's error reporter, and writes log lines. Callers see neither.
#
# @private
module Tiercel::Reports
  # The source of the reports, for subscribers.
  SOURCE = "tiercel.active_support"

  # @param error [Exception]
  # @param context [Hash{Symbol => Object}] `key:` is masked
  # @param log_keys [Boolean] whether the key itself is shown
  # @return [void]
  def self.handled(error, log_keys: false, **context)
    context[:key] = Tiercel::KeyMask.of(context[:key]) if context[:key] && !log_keys
    reporter = ActiveSupport.error_reporter if defined?(ActiveSupport) && ActiveSupport.respond_to?(:error_reporter)
    reporter&.report(error, handled: true, severity: :warning, source: SOURCE, context:)
  rescue Ractor::IsolationError, LoadError
    # Before Rails 8.2, only the main Ractor has an error reporter. Outside of an application, the reporter loads files
    # at its first report, which a process in a chroot does not find.
    nil
  end

  # Writes a warning into the log.
  #
  # @param own [#call, nil] returns the store's Logger; if it returns nil, the logger of all stores or Rails' is used
  # @yieldreturn [String]
  # @return [void]
  def self.log(own = nil) = logger(own)&.warn { "Tiercel: #{yield}" }

  # Writes a message that requires an action of the operator: to standard error if there is no log.
  #
  # @param message [String]
  # @return [void]
  def self.notice(message) = logger ? log { message } : Kernel.warn("Tiercel: #{message}")

  def self.logger(own = nil)
    found = own&.call
    return found if found || !Tiercel::Runtime.main? # other Ractors cannot read the logger of all stores
    (ActiveSupport::Cache::Store.logger if defined?(ActiveSupport::Cache::Store)) ||
      (Rails.logger if defined?(Rails.logger))
  end
  private_class_method :logger
end
