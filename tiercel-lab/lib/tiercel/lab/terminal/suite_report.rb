# frozen_string_literal: true

require_relative "figures"
require_relative "table"

module Tiercel
  module Lab
    module Terminal
      # What `lab all` prints: a line for each table, then where everything is.
      class SuiteReport
        # @param document [Report::Document]
        # @param parts [Array<Suite::Part>]
        # @param session [Session]
        # @param reports [Hash{Symbol => String}] files that were written
        def initialize(document, parts, session:, reports:)
          @document = document
          @parts = parts
          @session = session
          @reports = reports
        end

        # @param style [Style]
        # @return [String]
        def to_s(style = Style.new(nil))
          verdict = @document.verdicts.first
          [style.paint(verdict.sentence, :bold), *verdict.warnings, "", table.to_s(style),
           *@reports.map { |form, file| "Report (#{form}): #{file}" },
           "Everything that was measured: #{@session.recorder.path}"].join("\n")
        end

        private

        def table
          table = Table.new([["table", :left], ["took", :right], ["", :left], ["what it says", :left]])
          overview = @document.tables.find { |one| one.title.start_with?("All:") }
          @parts.zip(overview.rows).each do |part, row|
            table.row([part.name, Figures.duration(part.seconds), part.complete? ? "" : part.state, row[1].to_s],
                      colour: part.complete? ? nil : :red)
          end
          table
        end
      end

      # What `lab all` would do, and how long that takes.
      class SuitePlan
        # @param expected [Hash{Suite::Entry => Float}] seconds of what is to be measured
        # @param done [Array<Suite::Part>] what is not measured again
        # @param more [Array<String>] options of all
        def initialize(expected, done, more)
          @expected = expected
          @done = done
          @more = more
        end

        # @param style [Style]
        # @return [String]
        def to_s(style = Style.new(nil))
          table = Table.new([["table", :left], ["expected", :right], ["command", :left]])
          @expected.each { |entry, seconds| row(table, entry, seconds) }
          @done.each { |part| table.row([part.name, "complete", "not measured again"]) }
          "#{@expected.size} tables in about #{Figures.duration(@expected.each_value.sum)}.\n\n#{table.to_s(style)}"
        end

        private

        def row(table, entry, seconds)
          return table.row([entry.name, "", "there is no such command"]) unless entry.known?
          table.row([entry.name, Figures.duration(seconds), [entry.name, *entry.arguments, *@more].join(" ")])
        end
      end
    end
  end
end
