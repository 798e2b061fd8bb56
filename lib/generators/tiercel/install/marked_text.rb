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
      # Another program may have changed the ends of the lines since.
      BLOCK = /(?:(?<=\n)(?<gap>\r?\n))?^[ \t]*#{Regexp.escape(HEAD)}\r?\n(?<lines>.*?)
               ^[ \t]*#{Regexp.escape(TAIL)}\r?\n/mx

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
          was = match[:lines].lines.filter_map { |line| line[/\A[ \t]*#{Regexp.escape(WAS)}(.*\n)/, 1] }
          was.empty? ? "" : "#{match[:gap]}#{was.join}"
        end
      end
    end
  end
end
