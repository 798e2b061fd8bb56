# frozen_string_literal: true

# Reads frames with the Ruby code alone, which reads encrypted frames and those that the C code leaves to it.
class RubyCoder < Tiercel::Coder
  def load_value(bytes, now = nil, version = nil, key = nil) = load_in_ruby(bytes, now, version, key)

  def load_tagged_value(bytes, now = nil, version = nil, key = nil)
    load_in_ruby(bytes, now, version, key, tags_compared: true)
  end
end
