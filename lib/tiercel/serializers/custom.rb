# frozen_string_literal: true

# Wraps a user's serializer: any object with `dump(value)` and `load(bytes)`.
class Tiercel::Serializers::Custom
  # @param serializer [#dump, #load]
  # @raise [ConfigurationError] if the object lacks one of these methods
  def initialize(serializer)
    unless serializer.respond_to?(:dump) && serializer.respond_to?(:load)
      raise Tiercel::ConfigurationError,
        "serializer: expected one of #{Tiercel::Serializers::REGISTRY.names.join(", ")}, or an object with " \
        "dump(value) and load(bytes), got #{Tiercel::Redacted.text(serializer)}"
    end
    @serializer = serializer
  end

  # @return [Integer] in the frame's header
  def type = Tiercel::Frame::Layout::TYPE_CUSTOM

  # @param value [Object]
  # @return [String]
  # @raise [SerializationError] if the user's object does not return a String
  def dump(value)
    bytes = @serializer.dump(value)
    return bytes if bytes.is_a?(String)
    raise Tiercel::SerializationError,
      "serializer #{Tiercel::Redacted.text(@serializer)}: expected dump to return a String, " \
      "got #{bytes.class}"
  end

  # @param bytes [String] binary
  # @return [Object]
  def load(bytes) = @serializer.load(bytes)
end
