# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Backends
    # Validates the options that the disk backends share. The options of a URL's query string are Strings, so Strings
    # with numbers are accepted too.
    module DiskOptions
      module_function

      # @param value [Numeric, String] seconds
      # @param option [Symbol] the option's name, for the message
      # @return [Float]
      # @raise [ConfigurationError] unless it is a number above 0
      def seconds(value, option)
        number = Float(value, exception: false)
        return number if number&.positive? && number.finite?
        raise ConfigurationError, "#{option}: expected seconds (Numeric > 0), got #{Redacted.text(value)}"
      end

      # @param value [Integer, String, nil]
      # @param option [Symbol] the option's name, for the message
      # @return [Integer, nil]
      # @raise [ConfigurationError] unless it is nil or an Integer above 0
      def count(value, option)
        return if value.nil?
        number = Integer(value, exception: false)
        return number if number&.positive? && (value.is_a?(String) || number == value)
        raise ConfigurationError, "#{option}: expected an Integer > 0, or nil for no bound, got #{Redacted.text(value)}"
      end
    end
  end
end
