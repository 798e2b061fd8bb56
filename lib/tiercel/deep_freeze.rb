# frozen_string_literal: true

module Tiercel
  # Freezes a value with everything in it, where all of it is of plain types:
  # nil, true, false, numbers, Symbols, Strings, Times, Arrays and Hashes, and
  # no subclass of these, without instance variables and default procs.
  #
  # @private
  module DeepFreeze
    IMMUTABLE = [NilClass, TrueClass, FalseClass, Integer, Float, Symbol, Rational, Complex]
                .to_h { |type| [type, true] }.freeze
    # Deeper values are left as they are.
    MAX_DEPTH = 100

    # @param value [Object] of which nobody else has a reference
    # @return [Boolean] whether it is frozen now, all of it; where it is not, nothing is
    def self.call(value)
      containers = {}.compare_by_identity
      return false unless plain?(value, 0, containers)
      containers.each_key { |container| freeze_members(container) }
      value.freeze
      true
    end

    class << self
      private

      def plain?(value, depth, containers)
        return false unless Object === value # a BasicObject answers to nothing
        type = value.class
        return true if IMMUTABLE[type]
        return false unless value.instance_variables.empty?
        if type == String then true
        elsif type == Array || type == Hash then plain_container?(value, depth, containers)
        else type == Time && plain_zone?(value.zone)
        end
      end

      # Visits a shared object once, because there may be too many ways to reach it.
      def plain_container?(value, depth, containers)
        return true if containers.key?(value)
        return false if depth > MAX_DEPTH
        containers[value] = true
        depth += 1
        return value.all? { |member| plain?(member, depth, containers) } unless value.instance_of?(Hash)
        value.default_proc.nil? && plain?(value.default, depth, containers) &&
          value.all? { |key, member| plain?(key, depth, containers) && plain?(member, depth, containers) }
      end

      # An application's own kind of time zone is an object like others.
      def plain_zone?(zone) = zone.nil? || zone.instance_of?(String)

      def freeze_members(container)
        return container.each(&:freeze) unless container.instance_of?(Hash)
        container.default.freeze
        container.each do |key, member|
          key.freeze
          member.freeze
        end
      end
    end
  end
end
