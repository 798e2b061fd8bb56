# frozen_string_literal: true

module Tiercel
  module Store
    # A glob as Redis has it in KEYS and SCAN: `*` any characters, `?` one,
    # `[abc]`, `[a-c]` and `[^a]` classes, `\` takes the next one as it is.
    #
    # @private
    class Glob
      TOKEN = /\\(?<escaped>.)|(?<star>\*+)|(?<one>\?)|\[(?<not>\^?)(?<class>(?:\\.|[^\]])*)\]|(?<plain>.)/m
      # A character of a class, or the two ends of a range of them.
      MEMBER = /(\\.|.)(?:-(\\.|.))?/m

      # @return [Regexp] the same pattern for whole keys
      attr_reader :regexp
      # @return [String, nil] what every key that matches begins with
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

      # One alternative per member: a class of Ruby's own would warn of members
      # given twice, and refuse ranges from back to front.
      def class_source(token)
        members = token[:class].scan(MEMBER).map do |from, to|
          from, to = [from, to].compact.map { |char| char[-1] }.minmax
          from == to ? Regexp.escape(from) : "[#{Regexp.escape(from)}-#{Regexp.escape(to)}]"
        end
        members << "(?!)" if members.empty?
        token[:not].empty? ? "(?:#{members.join("|")})" : "(?!#{members.join("|")})."
      end
    end
  end
end
