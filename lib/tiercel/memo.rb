# frozen_string_literal: true

# The memo keeps decoded values in a process: long Strings, whose bytes all readers share, and with `frozen: true`
# whole objects. docs/memo.md has the guarantees.
#
# The table belongs to the segment ({Segment#keep}, `memo_bytes=`). The segment finds a kept value while it looks up
# the entry, and knows whether the value is current. This module passes decoded values to the segment.
#
# @private
module Tiercel::Memo
  # The minimum size of a memo; a smaller size is refused.
  LEAST_BYTES = 1 << 20
  # The maximum size: a larger one is a mistake, and its counters would overflow.
  MOST_BYTES = 1 << 40
  # The default memo size with `frozen: true`.
  FROZEN_BYTES = 32 << 20
  # Memory that Ruby needs for each kept SafeBuffer in addition to its bytes: for the hidden String that owns the
  # bytes, and for @html_safe in its table of instance variables. Measured: 110 bytes each, for 40,000 SafeBuffers of
  # 700 bytes.
  SAFE_BUFFER_BYTES = 112

  @segments = ObjectSpace::WeakMap.new

  class << self
    # Clears all memos of this process. The Railtie calls it when code is reloaded.
    #
    # @return [void]
    def clear_all = @segments.each_key(&:clear_memo)

    # @param segment [Segment] the segment with the memo
    # @return [void]
    def watch(segment) = @segments[segment] = true

    # Keeps a decoded String or SafeBuffer. Each reader gets its own String, which shares the kept bytes.
    #
    # @param segment [Segment]
    # @param key [String]
    # @param bytes [String] the frame that was read
    # @param token [String] the token of that read
    # @param string [String]
    # @return [Boolean] whether it is kept
    def keep_string(segment, key, bytes, token, string)
      return keep(segment, key, bytes, token, string, nil) if string.instance_of?(String)
      return false unless safe_buffer?(string)
      keep(segment, key, bytes, token, string.dup.freeze, string.bytesize + SAFE_BUFFER_BYTES)
    end

    # Keeps an object that all readers share.
    #
    # @param (see .keep_string)
    # @param value [Object] a deep-frozen value
    # @return [Boolean] whether it is kept
    def keep_frozen(segment, key, bytes, token, value)
      keep(segment, key, bytes, token, value, bytes.bytesize + weight(value))
    end

    # @param value [Object] a value of plain types, see {DeepFreeze}
    # @return [Integer] bytes of all objects in it; its Strings may additionally share the bytes of a frame
    def weight(value)
      require "objspace" unless ObjectSpace.respond_to?(:memsize_of) # only stores with `frozen:` need it
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
      segment.keep(key, token, value, bytes, Tiercel::Frame.parse(bytes).parts.version, weight)
    end

    # Accepts only a buffer without extra state that one reader could change for others.
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
