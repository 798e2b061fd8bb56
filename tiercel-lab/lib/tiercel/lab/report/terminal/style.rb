# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      module Terminal
        # Colours, where the output is a terminal and nobody said NO_COLOR.
        class Style
          CODES = { green: 32, red: 31, grey: 90, bold: 1 }.freeze

          # @param io [IO]
          # @param environment [#[]]
          def initialize(io, environment = ENV)
            @coloured = io.respond_to?(:tty?) && io.tty? && environment["NO_COLOR"].to_s.empty? &&
                        environment["TERM"] != "dumb"
          end

          # @param text [String]
          # @param colour [Symbol, nil] of {CODES}
          # @return [String]
          def paint(text, colour) = @coloured && colour ? "\e[#{CODES.fetch(colour)}m#{text}\e[0m" : text
        end
      end
    end
  end
end
