# frozen_string_literal: true

require "stringio"
require_relative "../table_command"

module Tiercel
  module Lab
    module CLI
      module All
        # A table of `lab all`: its command, and what it is called with there.
        #
        # - `name`: the command's
        # - `arguments`: its own
        # - `seconds`: what a quick run takes, where the command itself cannot say
        Entry = Data.define(:name, :arguments, :seconds) do
          # @return [Array<Entry>] every table of the articles, in their order, then what explains them
          def self.all
            Tables.in_all.map do |table|
              new(name: table.name, arguments: table.arguments_in_all, seconds: table.seconds_in_all)
            end
          end

          def initialize(name:, arguments: [], seconds: 60) = super

          def known? = Tables.known?(name)

          # @param given [Hash{Symbol => Array<String>}] options by group, see {Settings::OPTIONS}
          # @return [Array<String>] those that the table uses
          def used(given) = known? ? given.slice(*Tables.fetch(name).taken).values.flatten : given.values.flatten

          # @param more [Array<String>] what it is called with beside its own
          # @return [Float] seconds
          def expected_seconds(more)
            return 0.0 unless known?
            command = TableCommand.new(Tables.fetch(name), out: StringIO.new, err: StringIO.new, program: "")
            (command.estimate([*arguments, *more]) || seconds).to_f
          rescue UsageError, OptionParser::ParseError
            seconds.to_f # the run itself says what is wrong
          end
        end
      end
    end
  end
end
