# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/canned"

class CompareSidesFlamesTest < LabCase
  def test_a_summary_for_a_pull_request_links_both_flame_graphs
    Dir.mktmpdir do |folder|
      summary = File.join(folder, "pull", "summary.md")
      Dir.mkdir(File.dirname(summary))
      out, err = StringIO.new, StringIO.new
      code = Lab::CLI.run(["compare", "steps:50", "steps:500", "--quick", "--budget", "1",
                           "--require", PLANTED, "--op", "read", "--value", "string-100b", "--results", folder,
                           "--markdown", summary], out:, err:, program: "bin/lab")
      assert_equal 0, code, err.string
      text = File.read(summary)
      assert_includes text,
                      "[A: steps:50](summary-A.flame.html), [B: steps:500](summary-B.flame.html)"
      assert_match(/\| Tiercel::Lab::Contestants::CountingStore#read \|/, text)
      %w[A B difference].each do |label|
        assert_match(/<svg class="chart flame/, File.read(File.join(folder, "pull", "summary-#{label}.flame.html")))
      end
    end
  end

  def results(rows)
    cells = Canned.cells(compare("memory_store", "null_store"), { "memory_store" => 1_000, "null_store" => 1_500 })
    sides = %w[main .].map { |text| { text:, kind: "a revision", sha: "0123456789abcdef", title: "Do things" } }
    links = [{ title: "A: main", link: "x-A.flame.html" }, { title: "<B>", link: "javascript:x" }]
    Canned.results(command: "compare", arguments: %w[main .], cells:,
                   tables: { "sides" => [sides, { baseline: nil }], "profiles" => [rows, {}],
                             "flame graphs" => [links, {}] })
  end

  def html(rows)
    Lab::Report::Html.render(Lab::Tables::Compare::Table.report(results(rows), command: "bin/lab compare main ."))
  end

  def test_links_lead_to_files_only
    rows = %w[main .].map do |target|
      { target:, operation: "read", value: "string-100b", status: "measured", folded: { "loop;A" => 3 } }
    end
    page = html(rows)
    assert_includes page, '<a href="x-A.flame.html">A: main</a>'
    refute_match(/href="javascript/, page)
  end

  def test_without_a_profiler_there_is_the_reason
    row = { target: "main", operation: "read", value: "string-100b", status: "cannot run",
            reason: "there is no profiler" }
    assert_match(/No flame graphs: main: there is no profiler\./, html([row, row]))
  end
end
