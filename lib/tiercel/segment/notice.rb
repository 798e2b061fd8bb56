# frozen_string_literal: true

require_relative "../errors"
require_relative "../reports"

module Tiercel
  class Segment
    # Messages of a segment beside the answer to a call: to the application's error reporter and its log.
    module Notice
      # Bytes of ours that somebody else altered. What was in them is lost; the call goes on.
      #
      # @param message [String]
      # @return [void]
      def self.damaged(message)
        Reports.handled(Unavailable.new(message))
        logger&.warn { "Tiercel: #{message}" }
      end

      # A message that asks the operator to act; without a log it goes to standard error.
      #
      # @param message [String]
      # @return [void]
      def self.warn(message)
        logger ? logger.warn("Tiercel: #{message}") : Kernel.warn("Tiercel: #{message}")
      end

      # @param message [String]
      # @return [void]
      def self.info(message) = logger&.info { "Tiercel: #{message}" }

      # Before a store is built there is only the one that all stores of Rails share.
      def self.logger
        shared = ActiveSupport::Cache::Store.logger if defined?(ActiveSupport::Cache::Store)
        shared || (Rails.logger if defined?(Rails.logger))
      end
      private_class_method :logger
    end
  end
end
