# frozen_string_literal: true

# A glob as in Redis' KEYS and SCAN: `*` matches any characters, `?` one character, and `[abc]`, `[a-c]` and `[^a]`
# a class of characters; `\` escapes the next character.
#
# @private
class Tiercel::Store::Glob
  TOKEN = /\\(?<escaped>.)|(?<star>\*+)|(?<one>\?)|\[(?<not>\^?)(?<class>(?:\\.|[^\]])*)\]|(?<plain>.)/m
  # A character of a class, or the first and the last character of a range.
  MEMBER = /(\\.|.)(?:-(\\.|.))?/m

  # @param text [String]
  # @return [String] a glob that matches this text alone
  def self.escape(text) = text.gsub(/[*?\[\]\\]/) { |char| "\\#{char}" }

  # @return [Regexp] the same pattern for whole keys
  attr_reader :regexp
  # @return [String, nil] the literal prefix of all matching keys
  attr_reader :literal_prefix

  # @param glob [String]
  def initialize(glob)
    tokens = glob.to_enum(:scan, TOKEN).map { Regexp.last_match }
    @regexp = Regexp.new("\\A#{tokens.map { |token| source_of(token) }.join}\\z", Regexp::MULTILINE)
    prefix = tokens.take_while { |token| literal(token) }.map { |token| literal(token) }.join
    @literal_prefix = prefix unless prefix.empty?
  end

  private

  def literal(token) = token[:escaped] || token[:plain]

  def source_of(token)
    if token[:star] then ".*"
    elsif token[:one] then "."
    elsif token[:class] then class_source(token)
    else Regexp.escape(literal(token))
    end
  end

  # Writes one alternative for each member. A character class of Ruby would warn of duplicate members and refuse
  # reversed ranges.
  def class_source(token)
    members = token[:class].scan(MEMBER).map do |from, to|
      from, to = [from, to].compact.map { |char| char[-1] }.minmax
      from == to ? Regexp.escape(from) : "[#{Regexp.escape(from)}-#{Regexp.escape(to)}]"
    end
    members << "(?!)" if members.empty?
    token[:not].empty? ? "(?:#{members.join("|")})" : "(?!#{members.join("|")})."
  end
end
