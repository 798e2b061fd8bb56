# frozen_string_literal: true

require "json"

# Ruby's JSON, for data that other languages read. It dumps only values that load equal: nil, booleans, Integers,
# finite Floats, UTF-8 and US-ASCII Strings, and Arrays and Hashes of these with Strings as keys. It refuses all
# other values instead of changing them.
class Tiercel::Serializers::JSON
  MAX_NESTING = 100

  # @return [Integer] in the frame's header
  def type = Tiercel::Frame::Layout::TYPE_JSON

  # @param value [Object]
  # @return [String]
  # @raise [SerializationError] if the loaded value would differ
  def dump(value)
    check(value, 0)
    ::JSON.generate(value, max_nesting: MAX_NESTING)
  end

  # @param bytes [String]
  # @return [Object]
  # @raise [MalformedFrame] if they are not JSON
  def load(bytes)
    ::JSON.parse(bytes.dup.force_encoding(Encoding::UTF_8), max_nesting: MAX_NESTING)
  rescue ::JSON::ParserError, EncodingError => error
    raise Tiercel::MalformedFrame,
      "a json payload of #{Tiercel::Sizes.human(bytes.bytesize)} could not be loaded: #{error.class}"
  end

  private

  def check(value, depth)
    refuse("more than #{MAX_NESTING} Arrays and Hashes in each other") if depth > MAX_NESTING
    if value.instance_of?(Array) then value.each { |element| check(element, depth + 1) }
    elsif value.instance_of?(Hash) then value.each { |key, element| check_pair(key, element, depth + 1) }
    else check_scalar(value)
    end
  end

  def check_pair(key, element, depth)
    refuse("a Hash with #{key.class} keys") unless key.instance_of?(String)
    check_scalar(key)
    check(element, depth)
  end

  def check_scalar(value)
    case value
    when nil, true, false, Integer then nil
    when Float then refuse("the Float #{value}") unless value.finite?
    when String then refuse("a String in #{value.encoding}") unless text?(value)
    else refuse(value.class)
    end
  end

  def text?(value)
    value.instance_of?(String) && value.valid_encoding? &&
      (value.encoding == Encoding::UTF_8 || value.encoding == Encoding::US_ASCII)
  end

  def refuse(what)
    raise Tiercel::SerializationError,
      "#{what} does not survive JSON: choose serializer auto, or as_json, which converts " \
      "what it can"
  end
end
