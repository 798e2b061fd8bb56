# frozen_string_literal: true

# An entry that decodes its value on first access.
#
# @private
class Tiercel::Coder::LazyEntry < ActiveSupport::Cache::Entry
  # @return [Frame] the frame of the entry
  attr_reader :frame

  # @param reader [PayloadReader]
  # @param frame [Frame]
  # @param key [String, nil] the key of the entry, needed if it is encrypted
  def initialize(reader, frame, key)
    super(nil, version: frame.parts.version, expires_at: frame.expires_at)
    @reader = reader
    @frame = frame
    @key = key
    @resolved = false
  end

  # @return [Object]
  # @raise [ActiveSupport::Cache::DeserializationError] if the value cannot be decoded
  def value
    resolve unless @resolved
    @value
  end

  # Rails calls this before it uses an entry. An entry whose class no longer exists returns true here, so that
  # Rails treats it as a miss.
  def mismatched?(version)
    return true if @version && version && !Tiercel::Frame::Version.same?(@version, version)
    value
    false
  rescue ActiveSupport::Cache::DeserializationError
    true
  end

  private

  def resolve
    @value = @reader.read(@frame, @key)
    @resolved = true
  rescue Tiercel::MalformedFrame, Tiercel::SerializationError => error
    raise ActiveSupport::Cache::DeserializationError, error.message
  end
end
