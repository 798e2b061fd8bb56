# frozen_string_literal: true

require "io/console"

module Tiercel
  module Lab
    module Report
      module Terminal
        # Colours, where the output is a terminal and nobody said NO_COLOR, and how wide it is.
        class Style
          CODES = { green: 32, red: 31, grey: 90, bold: 1 }.freeze

          # Of a terminal that does not say.
          COLUMNS = 80

          # @return [Integer, nil] columns of the terminal; nil where the output is none: lines are as long as they are
          attr_reader :width

          # @param io [IO]
          # @param environment [#[]]
          def initialize(io, environment = ENV)
            @coloured = io.respond_to?(:tty?) && io.tty? && environment["NO_COLOR"].to_s.empty? &&
                        environment["TERM"] != "dumb"
            @width = width_of(io) if io.respond_to?(:tty?) && io.tty?
          end

          # @param text [String]
          # @param colour [Symbol, nil] of {CODES}
          # @return [String]
          def paint(text, colour) = @coloured && colour ? "\e[#{CODES.fetch(colour)}m#{text}\e[0m" : text

          # @param text [String]
          # @return [Array<String>] in lines that fit
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
