# frozen_string_literal: true

# Freezes a value and everything in it, if every part has a plain type: nil, true, false, numbers, Symbols, Strings,
# Times, Arrays and Hashes. Subclasses, objects with instance variables and Hashes with a default proc are not
# plain.
#
# @private
module Tiercel::DeepFreeze
  IMMUTABLE = [NilClass, TrueClass, FalseClass, Integer, Float, Symbol, Rational, Complex]
              .to_h { |type| [type, true] }.freeze
  # Values with deeper nesting stay unfrozen.
  MAX_DEPTH = 100

  # @param value [Object] a value without any other reference to it
  # @return [Boolean] true if the whole value is now frozen; false if nothing was frozen
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
      return false unless Object === value # a BasicObject has no `is_a?` and no `frozen?`
      type = value.class
      return true if IMMUTABLE[type]
      return false unless value.instance_variables.empty?
      if type == String then true
      elsif type == Array || type == Hash then plain_container?(value, depth, containers)
      else type == Time && plain_zone?(value.zone)
      end
    end

    # Visits a shared object only once, because the number of paths to it can grow exponentially.
    def plain_container?(value, depth, containers)
      return true if containers.key?(value)
      return false if depth > MAX_DEPTH
      containers[value] = true
      depth += 1
      return value.all? { |member| plain?(member, depth, containers) } unless value.instance_of?(Hash)
      value.default_proc.nil? && plain?(value.default, depth, containers) &&
        value.all? { |key, member| plain?(key, depth, containers) && plain?(member, depth, containers) }
    end

    # An application's own time zone class is not a plain type.
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
