# frozen_string_literal: true

# Ruby's Marshal, for any object that it can dump. Use it only with trusted servers, because loading foreign bytes
# can run code.
class Tiercel::Serializers::Marshal
  # Format 4.8, which every Ruby since 1.8 writes. Ruby reads other minor versions with a warning.
  SIGNATURE = "\x04\x08".b.freeze

  # @return [Integer] in the frame's header
  def type = Tiercel::Frame::Layout::TYPE_MARSHAL

  # @param value [Object]
  # @return [String]
  # @raise [TypeError] if the value contains an object that Marshal cannot dump (a Proc, an IO, a singleton)
  def dump(value) = ::Marshal.dump(value)

  # @param bytes [String]
  # @return [Object]
  # @raise [MalformedFrame] if the bytes are truncated or altered
  # @raise [ArgumentError] if a class no longer exists
  def load(bytes)
    raise Tiercel::MalformedFrame, "not a marshal payload of format 4.8" unless bytes.start_with?(SIGNATURE)
    ::Marshal.load(bytes)
  rescue NoMemoryError, SystemStackError => error
    raise Tiercel::MalformedFrame,
      "a marshal payload of #{Tiercel::Sizes.human(bytes.bytesize)} could not be loaded: " \
      "#{error.message}"
  end
end
