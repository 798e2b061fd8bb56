# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Gate
        # Writes the files for continuous integration: a summary of the step, test cases, and a comment for the pull
        # request.
        class Outputs
          SUMMARY = "GITHUB_STEP_SUMMARY"
          # A workflow finds its earlier comment by this marker.
          MARKER = "<!-- tiercel-lab gate -->"

          # @param junit [String, nil] file
          # @param comment [String, nil] file
          # @param table [Class<Table>]
          def initialize(junit:, comment:, table:)
            @junit = junit
            @comment = comment
            @table = table
          end

          # @param results [Hash{String => Object}]
          def write(results)
            view = @table.view(results, command: "")
            File.write(@junit, JUnit.new(view.gate_rows, sentence: view.sentence).to_s) if @junit
            summary = ENV.fetch(SUMMARY, "")
            return unless @comment || !summary.empty?
            text = Report::Markdown.render(view.brief)
            File.write(@comment, "#{MARKER}\n#{text}") if @comment
            File.write(summary, "#{text}\n", mode: "a") unless summary.empty?
          rescue SystemCallError => e
            raise UsageError, "the gate's files were not all written: #{e.message}"
          end
        end
      end
    end
  end
end
