# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../../musts/results_page"

class ResultsPageTest < LabCase
  Page = Lab::Tables::Musts::ResultsPage
  RECORDING = File.expand_path("../golden/recordings/all.json", __dir__)

  # The recording as a full run, with arguments and warnings that name files.
  def recorded(run = {})
    results = Lab::Engine::Results.load(RECORDING)
    full = results["run"]["protocol"].merge("name" => "full")
    results.merge("run" => results["run"].merge("protocol" => full, **run),
                  "environment" => results["environment"].merge("gems" => { "activesupport" => "8.1", "b" => "1" }),
                  "warnings" => ["`bin/lab all --resume /srv/runs/a-b.jsonl` goes on."])
  end

  def in_docs(text)
    Dir.mktmpdir do |docs|
      File.write(page = File.join(docs, "results.md"), text)
      yield docs, page
    end
  end

  def test_the_named_tables_stand_between_the_marks
    text = "# Title\n\"Profile:\ntimes\"\n#{Page::MARKS.first}\nearlier figures\n#{Page::MARKS.last}\nafter\n"
    in_docs(text) do |docs, page|
      2.times { Page.new(recorded).write(docs) }
      text = File.read(page)
      assert text.start_with?("# Title\n\"Profile:\ntimes\"\n#{Page::MARKS.first}\n")
      assert text.end_with?("#{Page::MARKS.last}\nafter\n")
      refute_includes text, "earlier figures"
      assert_equal ["results.md"], Dir.children(docs)
      ["Gems: activesupport 8.1.\n", "- Machine: ",
       "\nbin/lab all --quick --only cold,profile --within 5\n", "### Profile: times",
       "Warning: `bin/lab all --resume a-b.jsonl` goes on."].each { |part| assert_includes text, part }
      refute_match(/^# Cache|How long it took/, text)
    end
  end

  def test_a_named_group_keeps_all_of_its_tables
    group = "## Layers: a call\n\nText.\n\n### Layers\n\n| a |\n### Calls\n"
    page = Page.new(recorded)
    assert_equal group, page.send(:tables, group, ["Layers: a"]).join
    assert_equal ["## Layers: a call\n\nText.\n\n", "### Calls\n"], page.send(:tables, group, ["Calls"])
  end

  def test_the_text_names_tables_that_exist
    docs = File.expand_path("../../../docs", __dir__)
    text, page = File.read(File.join(docs, "results.md")).split(Page::MARKS.first)
    assert_titles(/"([A-Z][^"]+)"/, text, page)
  end

  def assert_titles(name, text, page)
    titles = page.scan(/^##+ (.*)/).flatten
    names = text.scan(name).flatten.map { |found| found.tr("\n", " ") }
    refute_empty names
    names.each { |found| assert titles.any? { |title| title.start_with?(found) }, found }
  end

  def test_long_tables_stay_in_the_report
    page = Page.new(recorded)
    short = "### Short\n\n| a |\n| --- |\n#{"| 1 |\n" * 50}"
    long = "### Long\n\n| a |\n| --- |\n#{"| 1 |\n" * 70}"
    assert_equal short, page.send(:shortened, short)
    assert_equal "### Long\n\n70 rows: in the report of `bin/lab all`.\n\n", page.send(:shortened, long)
  end

  def test_other_runs_and_pages_without_marks_are_refused
    quick = Lab::Engine::Results.load(RECORDING)
    assert_match(/quick run/, assert_raises(Lab::UsageError) { Page.new(quick) }.message)
    assert_match(/one of all/, assert_raises(Lab::UsageError) { Page.new(recorded("command" => "sizes")) }.message)
    in_docs("# Title\n") do |docs, _page|
      assert_match(/expected <!--/, assert_raises(Lab::UsageError) { Page.new(recorded).write(docs) }.message)
      assert_equal "# Title\n", File.read(File.join(docs, "results.md"))
    end
  end
end
