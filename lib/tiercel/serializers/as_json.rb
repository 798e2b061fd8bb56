# frozen_string_literal: true

require "active_support"
require "active_support/json"

# Rails' JSON: stores the result of an object's `as_json`. Symbols are loaded as Strings, times as ISO 8601
# Strings, records as Hashes of attributes.
class Tiercel::Serializers::AsJSON
  DEEPEST = 100 # levels that ::JSON.parse accepts
  NESTS_WITHOUT_LIMIT = ActiveSupport.gem_version < Gem::Version.new("8.1")
  private_constant :DEEPEST, :NESTS_WITHOUT_LIMIT

  # @return [Integer] in the frame's header
  def type = Tiercel::Frame::Layout::TYPE_AS_JSON

  # @param value [Object]
  # @return [String]
  # @raise [SerializationError] if the value cannot be converted (invalid UTF-8, cycles, more than 100 levels)
  def dump(value)
    json = ActiveSupport::JSON.encode(value)
    # Before Rails 8.1, the encoder also writes values that are nested too deep for the parser.
    ::JSON.parse(json) if NESTS_WITHOUT_LIMIT && json.count("[{") > DEEPEST
    json
  rescue ::JSON::JSONError, EncodingError, SystemStackError => error
    raise Tiercel::SerializationError, "#{value.class} cannot be converted to JSON: #{error.message}"
  end

  # Avoids ActiveSupport::JSON.decode, because an application can configure it to turn date-like Strings into
  # times.
  #
  # @param bytes [String]
  # @return [Object]
  # @raise [MalformedFrame] if the bytes are not JSON
  def load(bytes)
    ::JSON.parse(bytes.dup.force_encoding(Encoding::UTF_8))
  rescue ::JSON::ParserError, EncodingError => error
    raise Tiercel::MalformedFrame,
      "an as_json payload of #{Tiercel::Sizes.human(bytes.bytesize)} could not be loaded: #{error.class}"
  end
end
