# frozen_string_literal: true

require "erb/escape"

module Tiercel
  module Lab
    # The lab's output: data in, text out. This module does not measure, and does not use the network.
    #
    #   document = Report::Document.new(title: "Reads")
    #   document.section("Hits") { |section| section.add(table).add(chart) }
    #   File.write("report.html", Report::Html.render(document))
    #
    # A {Report::Table} is plain data for every renderer. A {Report::Chart} has a table with the same data as its text
    # form.
    module Report
      # @param text [String]
      # @return [String] an anchor: lower case, digits and dashes
      def self.slug(text) = text.scrub("-").downcase.gsub(/[^a-z0-9]+/, "-").gsub(/\A-|-\z/, "")

      # @param text [#to_s] text with arbitrary bytes
      # @return [String] safe in HTML and SVG, also in attributes
      def self.escape(text) = ERB::Escape.html_escape(text.to_s.scrub)

      # The charts.
      module Charts
      end
    end
  end
end

require_relative "report/format"
require_relative "report/cell"
require_relative "report/table"
require_relative "report/svg"
require_relative "report/scale"
require_relative "report/chart"
require_relative "report/charts/bar_chart"
require_relative "report/charts/forest_plot"
require_relative "report/charts/line_chart"
require_relative "report/charts/percentile_spectrum"
require_relative "report/document"
require_relative "report/markdown"
require_relative "report/csv"
require_relative "report/html"
require_relative "report/terminal"
