# frozen_string_literal: true

module Tiercel
  # Freezes a value with everything in it, where all of it is of plain types.
  #
  # @private
  module DeepFreeze
    IMMUTABLE = [NilClass, TrueClass, FalseClass, Integer, Float, Symbol, Rational, Complex]
                .to_h { |type| [type, true] }.freeze
    LEAVES = [String, Time].to_h { |type| [type, true] }.freeze
    # Deeper values are left as they are.
    MAX_DEPTH = 100

    # @param value [Object] of which nobody else has a reference
    # @return [Boolean] whether it is frozen now, all of it; where it is not, nothing is
    def self.call(value) = plain?(value, 0) && freeze(value)

    class << self
      private

      def plain?(value, depth)
        type = value.class
        return true if IMMUTABLE[type]
        return false if depth > MAX_DEPTH || !value.instance_variables.empty?
        return true if LEAVES[type]
        if type == Array then value.all? { |member| plain?(member, depth + 1) }
        elsif type == Hash then plain_hash?(value, depth + 1)
        else false
        end
      end

      def plain_hash?(hash, depth)
        hash.default_proc.nil? && hash.all? { |key, member| plain?(key, depth) && plain?(member, depth) }
      end

      def freeze(value)
        case value
        when Array then value.each { |member| freeze(member) }
        when Hash then value.each { |key, member| freeze(key) && freeze(member) }
        end
        value.freeze
        true
      end
    end
  end
end
