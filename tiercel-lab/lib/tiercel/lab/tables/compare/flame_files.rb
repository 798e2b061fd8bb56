# frozen_string_literal: true

require "fileutils"

module Tiercel
  module Lab
    module Tables
      module Compare
        # Writes the flame graphs of two sides as pages, to which a pull request links.
        class FlameFiles
          # @param report [String, nil] file of the report that links to them; nil: it goes to the output
          # @param kept [String] beginning of their paths if there is no report file
          def initialize(report:, kept:)
            @report = report
            @stem = report ? report.sub(/\.\w+\z/, "") : kept
          end

          # @param profiles [Array<Hash{String => Object}>] profiles of A and B, in the form of a profile's rows
          # @param names [Array(String, String)]
          # @return [Array<Hash{String => String}>] "title" and "link" of each page
          def write(profiles, names)
            stacks = profiles.map { |row| row["folded"] }
            pages = { "A" => flame("A: #{names[0]}", stacks[0]), "B" => flame("B: #{names[1]}", stacks[1]),
                      "difference" => difference(names, stacks) }
            pages.map do |label, chart|
              path = "#{@stem}-#{label}.flame.html"
              save(path, chart, profiles.first)
              { "title" => chart.title, "link" => @report ? File.basename(path) : path }
            end
          end

          private

          def flame(title, stacks) = Report::Charts::FlameGraph.new(title, stacks)

          def difference(names, stacks)
            Report::Charts::DifferentialFlameGraph.new("#{names[1]} against #{names[0]}", *stacks, names:)
          end

          def save(path, chart, profile)
            document = Report::Document.new(title: "Flame graph",
                                            subtitle: "#{profile["operation"]} of #{profile["value"]}")
            document.section(chart.title) { |section| section.add(chart) }
            FileUtils.mkdir_p(File.dirname(File.expand_path(path)))
            File.write(path, Report::Html.render(document))
          end
        end
      end
    end
  end
end
