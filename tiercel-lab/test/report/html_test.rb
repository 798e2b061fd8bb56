# frozen_string_literal: true

require "test_helper"
require "json"
require_relative "sample"

class ReportHtmlTest < Tiercel::TestCase
  Report = Tiercel::Lab::Report

  def html = @html ||= Report::Html.render(SampleReport.document)

  def test_it_needs_nothing_from_outside
    refute_match(%r{(?:src|href)="(?!#|data:)}, html)
    refute_match(/@import|url\(/, html)
    assert_includes html, %(content="default-src 'none';)
  end

  def test_ids_are_unique_and_links_lead_somewhere
    ids = html.scan(/\sid="([^"]+)"/).flatten
    assert_equal ids.uniq, ids
    targets = html.scan(/href="#([^"]+)"/).flatten
    assert_operator targets.size, :>=, 10
    assert_empty targets - ids
    labelled = html.scan(/aria-labelledby="([^"]+)"/).flatten.flat_map(&:split)
    assert_empty labelled - ids
  end

  def test_the_verdict_stands_above_everything_else
    assert_operator html.index("A hit costs"), :<, html.index("<section>")
    assert_includes html, "Noise floor: 1.2 %."
    assert_equal 2, html[/<ul class="warnings".*?<\/ul>/m].scan("<li>").size
    assert_includes html, "banner tone-faster"
  end

  def test_data_survives_and_cannot_end_its_element
    json = html[%r{<script type="application/json" id="data">(.*?)</script>}m, 1]
    assert_equal SampleReport.document.data.transform_keys(&:to_s), JSON.parse(json)
  end

  def test_text_is_escaped
    document = Report::Document.new(title: "<i>&", subtitle: "<i>", command: "a < b", environment: { "<i>" => "<i>" })
    document.verdict("<i>", warnings: ["<i>"])
    document.section("<i>") do |section|
      section.text("<i> `<i>`").code("<i>", title: "<i>")
      section.table("<i>", header: ["<i>"], command: "<i>", note: "<i>", floor: "<i>") do |table|
        table.row(Report::Cell.text("<i>", note: "<i>"))
      end
    end
    page = Report::Html.render(document)
    refute_includes page, "<i>"
    assert_includes page, %(&lt;i&gt; <code class="unbroken">&lt;i&gt;</code>)
  end
end
