# frozen_string_literal: true

require "io/console"

module Tiercel
  module Lab
    module Report
      module Terminal
        # Colours, if the output is a terminal and NO_COLOR is not set, and the terminal's width.
        class Style
          CODES = { green: 32, red: 31, grey: 90, bold: 1 }.freeze

          # The width of a terminal that does not report one.
          COLUMNS = 80

          # @return [Integer, nil] columns of the terminal; nil for other outputs, whose lines are not wrapped
          attr_reader :width

          # @param io [IO]
          # @param environment [#[]]
          def initialize(io, environment = ENV)
            @coloured = io.respond_to?(:tty?) && io.tty? && environment["NO_COLOR"].to_s.empty? &&
                        environment["TERM"] != "dumb"
            @width = width_of(io) if io.respond_to?(:tty?) && io.tty?
          end

          # @param text [String]
          # @param colour [Symbol, nil] one of {CODES}
          # @return [String]
          def paint(text, colour) = @coloured && colour ? "\e[#{CODES.fetch(colour)}m#{text}\e[0m" : text

          # @param text [String]
          # @return [Array<String>] wrapped lines
          def lines(text) = width ? text.scan(/\S.{0,#{width - 1}}(?=\s|\z)|\S{1,#{width}}/) : [text]

          private

          def width_of(io)
            columns = io.respond_to?(:winsize) ? io.winsize.last : 0
            columns.positive? ? columns : COLUMNS
          rescue SystemCallError
            COLUMNS
          end
        end
      end
    end
  end
end
