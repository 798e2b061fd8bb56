# frozen_string_literal: true

require "test_helper"
require "tiercel/lab"
require_relative "sample"

class ReportMarkdownTest < Tiercel::TestCase
  Report = Tiercel::Lab::Report
  Cell = Report::Cell

  def test_a_table
    table = Report::Table.new("Reads", header: ["store", "us"], command: "bin/lab compare", note: "Quick.")
    table.row("a|b", 1.5).row("c", Cell.missing("no gem", remedy: "bin/setup c"))
    table.row("d", Cell.number(2.0, note: "Once."))
    assert_equal <<~MARKDOWN, Report::Markdown.render(table)
      Quick.

      | store | us |
      | --- | ---: |
      | a\\|b | 1.50 |
      | c | n/a: no gem (`bin/setup c`) |
      | d | 2.00 [1] |

      [1] Once.

      ```
      bin/lab compare
      ```
    MARKDOWN
  end

  def test_line_feeds_and_markup_do_not_break_the_table
    table = Report::Table.new("T", header: ["a"], rows: [["one\ntwo <b> \\"]])
    assert_includes Report::Markdown.render(table), "| one two &lt;b> \\\\ |"
  end

  def test_a_document_has_everything_in_order
    text = Report::Markdown.render(SampleReport.document)
    places = ["# Nine cache stores", "**A hit costs", "Warning: Steal", "- Machine: 2 x", "## Reads",
              "### Time of a read against MemoryStore", "| shared: frozen | 0.105x", "Noise floor: 1.2 %.",
              "## Capabilities",
              "[1] Copies"].map { |part| text.index(part) }
    assert_equal places.compact.sort, places
    assert text.end_with?("\n")
    refute_match(/\n{3}/, text)
  end

  def test_other_objects_are_refused
    assert_raises(ArgumentError) { Report::Markdown.render("text") }
  end
end
