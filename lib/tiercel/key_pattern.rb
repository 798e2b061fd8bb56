# frozen_string_literal: true

# The pattern of `delete_matched`: a Regexp, or a glob as in Redis (`*`, `?`, `[a-c]`, `[^a]`; `\` escapes the next
# character).
#
# @private
class Tiercel::KeyPattern
  # @param prefix [String] the prefix of the keys, in which no character is special
  # @param glob [String] a pattern for the rest
  # @return [KeyPattern]
  def self.glob(prefix, glob)
    literal = "#{prefix}#{glob[/\A[^*?\[\\]*/]}"
    new((literal unless literal.empty?), "#{prefix.gsub(/[*?\[\]\\]/) { |char| "\\#{char}" }}#{glob}")
  end

  # @return [String, nil] the prefix of the keys
  attr_reader :prefix

  # @param prefix [String, nil]
  # @param pattern [Regexp, String] for whole keys; a String is a glob
  def initialize(prefix, pattern)
    @prefix = prefix
    @pattern = pattern
  end

  # @param key [String] any bytes; invalid UTF-8 in it matches as U+FFFD
  # @return [Boolean]
  def match?(key)
    text = key.dup.force_encoding(Encoding::UTF_8)
    text = text.scrub unless text.valid_encoding?
    return @pattern.match?(text) if @pattern.is_a?(Regexp)
    # To `fnmatch`, which is C, a zero byte is the end of a String.
    File.fnmatch?(@pattern, text.tr("\0", "\u0001"), File::FNM_DOTMATCH)
  end
end
