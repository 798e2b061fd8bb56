# frozen_string_literal: true

require "active_support"
require "active_support/json"

# Rails' JSON: stores the result of an object's `as_json`. Symbols are loaded as Strings, times as ISO 8601
# Strings, records as Hashes of attributes.
class Tiercel::Serializers::AsJSON
  # @return [Integer] in the frame's header
  def type = Tiercel::Frame::Layout::TYPE_AS_JSON

  # @param value [Object]
  # @return [String]
  # @raise [SerializationError] if the value cannot be converted (invalid UTF-8, cycles)
  def dump(value)
    ActiveSupport::JSON.encode(value)
  rescue ::JSON::JSONError, EncodingError, SystemStackError => error
    raise Tiercel::SerializationError, "#{value.class} cannot be converted to JSON: #{error.message}"
  end

  # Avoids ActiveSupport::JSON.decode, because an application can configure it to turn date-like Strings into
  # times.
  #
  # @param bytes [String]
  # @return [Object]
  # @raise [MalformedFrame] if they are not JSON
  def load(bytes)
    ::JSON.parse(bytes.dup.force_encoding(Encoding::UTF_8))
  rescue ::JSON::ParserError, EncodingError => error
    raise Tiercel::MalformedFrame,
      "an as_json payload of #{Tiercel::Sizes.human(bytes.bytesize)} could not be loaded: #{error.class}"
  end
end
