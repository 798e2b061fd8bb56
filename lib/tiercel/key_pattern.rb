# frozen_string_literal: true

# The pattern of `delete_matched`: matches keys that begin with a prefix and match a Regexp.
#
# @private
class Tiercel::KeyPattern
  # @return [String, nil] the prefix of the keys
  attr_reader :prefix
  # @return [Regexp] matches whole keys
  attr_reader :regexp

  # @param prefix [String, nil]
  # @param regexp [Regexp] matches whole keys
  def initialize(prefix, regexp)
    @prefix = prefix
    @regexp = regexp
  end

  # @param key [String] any bytes; invalid UTF-8 in it matches as U+FFFD
  # @return [Boolean]
  def match?(key)
    text = key.dup.force_encoding(Encoding::UTF_8)
    @regexp.match?(text.valid_encoding? ? text : text.scrub)
  end
end
