# frozen_string_literal: true

# Messages of a segment to the application's error reporter and log, independent of a call's result.
module Tiercel::Segment::Notice
  # Another program altered bytes of the segment. Their content is lost; the call continues.
  #
  # @param message [String]
  # @return [void]
  def self.damaged(message)
    Tiercel::Reports.handled(Tiercel::Unavailable.new(message))
    logger&.warn { "Tiercel: #{message}" }
  end

  # Logs a message that requires an action of the operator. Prints it to standard error if there is no log.
  #
  # @param message [String]
  # @return [void]
  def self.warn(message)
    logger ? logger.warn("Tiercel: #{message}") : Kernel.warn("Tiercel: #{message}")
  end

  # @param message [String]
  # @return [void]
  def self.info(message) = logger&.info { "Tiercel: #{message}" }

  # Uses the logger that all Rails stores share, because no store may exist yet.
  def self.logger
    shared = ActiveSupport::Cache::Store.logger if defined?(ActiveSupport::Cache::Store)
    shared || (Rails.logger if defined?(Rails.logger))
  end
  private_class_method :logger
end
