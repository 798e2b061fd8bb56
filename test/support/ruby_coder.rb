# frozen_string_literal: true

# Reads frames with the Ruby code alone, which reads encrypted frames and those that the C code leaves to it.
class RubyCoder < Tiercel::Coder
  def load_value(bytes, now = nil, version = nil, key = nil, tags_compared = false)
    load_in_ruby(bytes, now, version, key, tags_compared)
  end
end
