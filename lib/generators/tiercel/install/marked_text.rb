# frozen_string_literal: true

module Tiercel
  module Generators
    # Marks the lines that `tiercel:install` writes into a file of the application: two comments enclose them. The
    # replaced lines follow as comments.
    #
    # @private
    module MarkedText
      HEAD = "# tiercel:install (`bin/rails destroy tiercel:install` undoes it)"
      WAS = "# was: "
      TAIL = "# /tiercel:install"
      BLOCK = /(?:(?<=\n)(?<gap>\n))?^ *#{Regexp.escape(HEAD)}\n(?<lines>.*?)^ *#{Regexp.escape(TAIL)}\n/m

      module_function

      # @param text [String] lines
      # @param indent [String]
      # @param was [String, nil] the replaced lines, unchanged
      # @return [String]
      def block(text, indent = "", was: nil)
        lines = [HEAD, *text.lines(chomp: true), *was&.lines&.map { |line| "#{WAS}#{line.delete_suffix("\n")}" }, TAIL]
        lines.map { |line| line.empty? ? "\n" : "#{indent}#{line}\n" }.join
      end

      # @param text [String] the text of a file
      # @return [String] the text before the installation
      def undone(text)
        text.gsub(BLOCK) do
          match = $~
          was = match[:lines].lines.filter_map { |line| line[/\A *#{Regexp.escape(WAS)}(.*\n)/, 1] }
          was.empty? ? "" : "#{match[:gap]}#{was.join}"
        end
      end
    end
  end
end
