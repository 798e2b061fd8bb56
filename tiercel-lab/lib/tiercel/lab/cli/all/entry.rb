# frozen_string_literal: true

require "stringio"
require_relative "../table_command"

module Tiercel
  module Lab
    module CLI
      module All
        # A table in `lab all`, with its arguments.
        #
        # - `name`: of the command
        # - `arguments`: in `lab all`
        # - `seconds`: expected time of a quick run, for commands that cannot estimate it
        # - `weight`: of its expected time, if a quick run shares its time among the tables
        Entry = Data.define(:name, :arguments, :seconds, :weight) do
          # @return [Array<Entry>] all tables: first those of the articles in their order, then the others
          def self.all
            Tables.in_all.map do |table|
              new(name: table.name, arguments: table.arguments_in_all, seconds: table.seconds_in_all,
                  weight: table.weight_in_all)
            end
          end

          def initialize(name:, arguments: [], seconds: 60, weight: 1) = super

          def known? = Tables.known?(name)

          # @param given [Hash{Symbol => Array<String>}] options by group, see {Settings::OPTIONS}
          # @return [Array<String>] the options that the table uses
          def used(given) = known? ? given.slice(*Tables.fetch(name).taken).values.flatten : given.values.flatten

          # @param more [Array<String>] additional arguments
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
