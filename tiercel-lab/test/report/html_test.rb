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
    assert_operator targets.size, :>, 10
    assert_empty targets - ids
    labelled = html.scan(/aria-labelledby="([^"]+)"/).flatten.flat_map(&:split)
    assert_empty labelled - ids
  end

  def test_two_elements_of_one_title_have_anchors_of_their_own
    document = Report::Document.new(title: "T")
    document.section("Same") { |section| 2.times { section.table("Same", header: ["a"]) { |table| table.row(1) } } }
    page = Report::Html.render(document)
    assert_equal %w[same same-2 same-3], page.scan(/\sid="([^"]+)"/).flatten
  end

  def test_every_table_has_its_anchor_its_command_and_its_markdown
    table = SampleReport.reads_table
    assert_includes html, %(id="reads-of-1-kb")
    assert_includes html, %(data-copy="#{Report.escape(Report::Markdown.render(table))}")
    assert_includes html.gsub(%r{</?span>}, ""), "bin/lab compare shared: memory: MemoryStore --operation read</code>"
    assert_includes html, "<summary>All 360 blocks</summary>"
  end

  def test_every_chart_has_its_twin
    charts = SampleReport.document.sections.flat_map(&:elements).grep(Report::Chart)
    assert_equal charts.size, html.scan('<details class="twin">').size
    assert_equal charts.size, html.scan("<figure ").size
  end

  def test_the_verdict_stands_above_everything_else
    assert_operator html.index("A hit costs"), :<, html.index("<section>")
    assert_includes html, "Noise floor: 1.2 %."
    assert_equal 2, html[/<ul class="warnings".*?<\/ul>/m].scan("<li>").size
    assert_includes html, "banner tone-faster"
  end

  def test_what_cannot_run_keeps_its_row_with_the_reason
    assert_includes html, %(<th scope="row">Litecache</th><td class="missing" colspan="5"><span>needs sqlite3 ) +
                          "1.x <code>bin/setup litecache</code></span></td>"
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
        table.row(Report::Cell.text("<i>", note: "<i>")).raw("<i>", [1])
      end
    end
    page = Report::Html.render(document)
    refute_includes page, "<i>"
    assert_includes page, %(&lt;i&gt; <code class="unbroken">&lt;i&gt;</code>)
  end

  def test_grey_where_it_cannot_tell
    assert_match(/<td class="num muted" data-label="hit, us"><span><span class="estimate">640/, html)
    assert_includes html, %(<span class="verdict verdict-cannot_tell">cannot tell</span>)
  end

  def test_unknown_tones_are_refused
    error = assert_raises(ArgumentError) { Report::Document.new(title: "T").verdict("x", tone: :great) }
    assert_match(/:great.*faster/, error.message)
  end

  def test_a_section_whose_details_are_folded_is_set_closer
    document = Report::Document.new(title: "T")
    document.section("Open") { |section| section.text("x") }
    document.section("Folded") { |section| section.fold("1 table", []) }
    assert_equal ["<section>", %(<section class="chapter">)], Report::Html.render(document).scan(/<section[^>]*>/)
  end

  def test_units_keep_their_distance
    document = Report::Document.new(title: "T", environment: { "Servers" => "", "Ruby" => 3.3 })
    rows = [["a", Report::Cell.number(0, unit: "us")], ["b", Report::Cell.number(0.777, unit: "us")]]
    document.section("S") { |section| section.table("T", header: %w[store GC], rows:) }
    page = Report::Html.render(document)
    assert_match(/>0<span class="fraction"[^>]*>\u00A0us</, page)
    assert_match(/>0<span class="fraction"[^>]*>.777 us</, page)
    refute_includes page, "Servers"
  end

  def test_a_document_without_anything
    page = Report::Html.render(Report::Document.new(title: "Empty"))
    assert_includes page, "<h1>Empty</h1>"
    refute_includes page, "<nav"
  end

  def test_words_are_set_apart_products_are_not
    inline = Tiercel::Lab::Report::Html.method(:inline)
    assert_equal "<em>Intended</em>: 2*3*4 <code class=\"unbroken\">*a*</code> a * b *",
                 inline.call("*Intended*: 2*3*4 `*a*` a * b *")
    assert_equal "<code>#{"a" * 30}</code>", inline.call("`#{"a" * 30}`")
  end
end
