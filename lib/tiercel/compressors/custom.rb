# frozen_string_literal: true

# Wraps a user's compressor: an object with `deflate` and `inflate` (as in Rails) or `compress` and `decompress`,
# each with one String argument.
class Tiercel::Compressors::Custom
  PAIRS = [%i[deflate inflate], %i[compress decompress]].freeze

  # @param compressor [Object]
  # @raise [ConfigurationError] if it has neither pair of methods
  def initialize(compressor)
    @compressor = compressor
    deflate, inflate = PAIRS.find { |pair| pair.all? { |name| compressor.respond_to?(name) } }
    unless deflate
      raise Tiercel::ConfigurationError,
        "compressor: expected one of #{Tiercel::Compressors::REGISTRY.names.join(", ")}, or an " \
        "object with deflate(bytes) and inflate(bytes), got #{Tiercel::Redacted.text(compressor)}"
    end
    @deflate = compressor.method(deflate)
    @inflate = compressor.method(inflate)
  end

  # @return [Integer] in the frame's header
  def id = Tiercel::Frame::Layout::COMPRESSOR_CUSTOM

  # @param bytes [String]
  # @return [String]
  # @raise [SerializationError] if the user's object does not return a String
  def deflate(bytes) = string(@deflate.call(bytes))

  # Checks only the result against the limit. The user's compressor decides how much memory it needs in between.
  #
  # @param bytes [String] binary
  # @param limit [Integer] bytes
  # @return [String]
  # @raise [MalformedFrame] if the result exceeds `limit`, or if the user's object raises
  def inflate(bytes, limit: Tiercel::Compressors::INFLATE_LIMIT, **)
    inflated = string(@inflate.call(bytes))
    return inflated if inflated.bytesize <= limit
    size, limit = [inflated.bytesize, limit].map { |count| Tiercel::Sizes.human(count) }
    raise Tiercel::MalformedFrame, "a payload inflates to #{size}, more than #{limit}"
  rescue Tiercel::Error
    raise
  rescue StandardError => error
    raise Tiercel::MalformedFrame,
      "a payload could not be inflated by #{Tiercel::Redacted.text(@compressor)}: #{error.class}: " \
      "#{error.message}"
  end

  private

  def string(result)
    return result if result.is_a?(String)
    raise Tiercel::SerializationError,
      "compressor #{Tiercel::Redacted.text(@compressor)}: expected a String, got #{result.class}"
  end
end
