# frozen_string_literal: true

require "optparse"
require_relative "../version"

module Tiercel
  module Lab
    module CLI
      # An OptionParser with help for a terminal's width.
      class Parser < OptionParser
        # Columns of a terminal.
        WIDTH = 80
        LEFT = 24
        private_constant :LEFT

        # No line begins with a dash, because OptionParser would treat it as an option.
        def self.wrapped(text, width) = text.scan(/\S.{0,#{width - 1}}(?=\s(?!-)|\z)|\S{#{width},}/)

        # Continues a long command line on further lines, with backslashes.
        def self.pasted(text, width: WIDTH, indent: "  ")
          room = width - indent.size - 5
          lines = text.scan(/\S.{0,#{room}}(?=\s+-|\z)|\S.{0,#{room}}(?=\s|\z)|\S+/)
          lines.each_with_index.map do |line, index|
            "#{indent}#{"  " if index.positive?}#{line}#{" \\" if index < lines.size - 1}"
          end
        end

        def initialize
          super(nil, LEFT)
          self.program_name = "tiercel-lab"
          self.version = VERSION
          @choices = {}
        end

        # Joins an option's description to one sentence and wraps it.
        def on(*words, &)
          said, facts = words.partition { |word| word.is_a?(String) && !word.start_with?("-") }
          choices = facts.find { |fact| fact.is_a?(Enumerable) }
          @choices[facts.first[/\A[\w-]+/]] = choices.respond_to?(:keys) ? choices.keys : choices if choices
          super(*facts, *Parser.wrapped(said.join(" "), WIDTH - summary_indent.size - LEFT - 1), &)
        end

        # @param option [String] such as "--seed"
        # @param text [String] a value that OptionParser refused: no number, or none of the choices
        # @return [String] a message
        def expectation(option, text)
          expected = @choices[option]&.join(", ") || "a #{"whole " if Float(text, exception: false)}number"
          "#{option} #{text}: expected #{expected}"
        end
      end

      # Finds the arguments that are not options, without applying options, which may be invalid.
      class Shape < OptionParser
        # @return [Array<String>] files of `--require`
        attr_reader :requires

        def initialize
          super
          @requires = []
          on("-h", "--help") # OptionParser's own would print, and end the process
          on("-v", "--version")
        end

        def on(*words, &)
          words = words.grep(/\A-/)
          super(*words) { |file| @requires << file if words.first.start_with?("--require") }
        end

        # @param arguments [Array<String>]
        # @return [Array<String>]
        def rest(arguments)
          parse(arguments)
        rescue OptionParser::ParseError # the command's own parser says so
          []
        end
      end
    end
  end
end
