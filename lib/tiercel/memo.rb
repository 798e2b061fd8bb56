# frozen_string_literal: true

require_relative "deep_freeze"
require_relative "frame"

module Tiercel
  # The values that a process keeps once they are decoded: long Strings, of
  # which readers share the bytes, and with `frozen: true` whole objects.
  # docs/memo.md has the guarantees.
  #
  # The table is the segment's ({Segment#keep}, `memo_bytes=`): the segment
  # finds a kept value while it looks the entry up, and knows whether the value
  # is current. This module passes decoded values to it.
  #
  # @private
  module Memo
    # A memo is none, or has at least so much.
    LEAST_BYTES = 1 << 20
    # More is a mistake, and beyond what its counts can say.
    MOST_BYTES = 1 << 40
    # The memo of `frozen: true` without `memo:`.
    FROZEN_BYTES = 32 << 20

    @segments = ObjectSpace::WeakMap.new

    class << self
      # Forgets what every process-wide table of decoded objects holds. The Railtie does so when code is reloaded.
      #
      # @return [void]
      def clear_all = @segments.each_key(&:clear_memo)

      # @param segment [Segment] whose memo keeps decoded objects
      # @return [void]
      def watch(segment) = @segments[segment] = true

      # Keeps a String or a SafeBuffer as it was decoded; readers get Strings of their own that share its bytes.
      #
      # @param segment [Segment]
      # @param key [String]
      # @param bytes [String] the frame that was read
      # @param token [String] what came with it
      # @param string [String]
      # @return [Boolean] whether it is kept
      def keep_string(segment, key, bytes, token, string)
        return keep(segment, key, bytes, token, string, nil) if string.instance_of?(String)
        return false unless safe_buffer?(string)
        keep(segment, key, bytes, token, string.dup.freeze, string.bytesize)
      end

      # Keeps an object that every reader gets.
      #
      # @param (see .keep_string)
      # @param value [Object] frozen, with all that is in it
      # @return [Boolean] whether it is kept
      def keep_frozen(segment, key, bytes, token, value)
        keep(segment, key, bytes, token, value, bytes.bytesize + weight(value))
      end

      # @param value [Object] of plain types, see {DeepFreeze}
      # @return [Integer] bytes of all objects in it; Strings may share a frame's bytes besides
      def weight(value)
        met = {}.compare_by_identity
        rest = [value]
        total = 0
        until rest.empty?
          object = rest.pop
          bytes = ObjectSpace.memsize_of(object)
          next if bytes.zero? || met[object]
          met[object] = true
          total += bytes
          add_members(rest, object)
        end
        total
      end

      private

      def keep(segment, key, bytes, token, value, weight)
        segment.keep(key, token, value, bytes, Frame.parse(bytes).parts.version, weight)
      end

      # With its own state alone, which no reader can change for others.
      def safe_buffer?(string)
        string.class.name == "ActiveSupport::SafeBuffer" && string.instance_variables.all? do |name|
          [true, false, nil].include?(string.instance_variable_get(name))
        end
      end

      def add_members(rest, object)
        case object
        when Array then rest.concat(object)
        when Hash
          rest.concat(object.keys, object.values)
          rest << object.default
        end
      end
    end
  end
end
