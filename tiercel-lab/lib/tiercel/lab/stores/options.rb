# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    # Parses the options after a contestant's "#": `compress=false,compressor=:zstd,size=64MB`.
    module StoreOptions
      LITERALS = { "true" => true, "false" => false, "nil" => nil }.freeze

      module_function

      # @param text [String] "" for none
      # @return [Hash{Symbol => Object}] true, false, nil, Integers, Floats, Symbols (":name"), otherwise Strings
      # @raise [UsageError]
      def parse(text)
        text.split(",").to_h do |pair|
          key, value = pair.split("=", 2)
          unless value && key.match?(/\A\w+\z/)
            raise UsageError, "store option #{pair.inspect}: expected OPTION=VALUE, such as compress=false"
          end
          [key.to_sym, cast(value)]
        end
      end

      def cast(value)
        case value
        when *LITERALS.keys then LITERALS.fetch(value)
        when /\A-?\d+\z/ then value.to_i
        when /\A-?\d+\.\d+\z/ then value.to_f
        when /\A:\w+\z/ then value.delete_prefix(":").to_sym
        else value
        end
      end
      private_class_method :cast
    end
  end
end
