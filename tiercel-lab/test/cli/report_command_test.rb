# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"

class ReportCommandTest < LabCase
  def results(cpu, baseline:, store:)
    cells = Canned.cells(compare("memory_store", "tiercel:memory:"), "memory_store" => baseline,
                         "tiercel:memory:" => store)
    Canned.results(command: "compare", cells:).tap { |document| document["environment"]["cpu"] = cpu }
  end

  def files(*documents)
    Dir.mktmpdir do |folder|
      paths = documents.each_with_index.map do |document, index|
        File.join(folder, "#{index}.json").tap { |path| File.write(path, JSON.generate(document)) }
      end
      yield paths, folder
    end
  end

  def render(*arguments)
    out = StringIO.new
    assert_equal 0, Lab::CLI.run(["report", *arguments], out:, err: StringIO.new, program: "bin/lab")
    out.string
  end

  def test_two_machines_side_by_side_with_ratios_within_each
    files(results("Old", baseline: 4_000, store: 2_000),
          results("New", baseline: 1_000, store: "no such gem")) do |paths, folder|
      text = render(*paths, "--markdown")
      assert_match(/^# 2 runs, 2 machines$/, text)
      assert_match(/^- A: Old, .*\n- B: New, /, text)
      row = text[/^### compare: string-100b.*?^\| tiercel:memory: \|[^\n]*/m].lines.last
      assert_match(/4\.00/, text[/^\| memory_store \|.*baseline.*/])
      assert_match(/\A\| tiercel:memory: \| 2\.00.* us .*\| 0\.500.*\| n\/a: cannot run: no such gem \|/, row)
      html = File.join(folder, "x.html")
      render(*paths, "--html", html)
      ids = File.read(html).scan(/ id="([^"]+)"/).flatten
      assert_equal ids.uniq, ids
      assert_includes ids, "b-compare"
    end
  end

  def test_a_run_of_all_tables_counts_by_its_parts
    part = { name: "compare", arguments: [], state: "complete", seconds: 1,
             results: results("Old", baseline: 4_000, store: 2_000) }
    all = Canned.results(command: "all", parts: [part])
    files(all, results("New", baseline: 1_000, store: 900)) do |paths, _folder|
      assert_match(/^1 comparisons were made by more than one run/, render(*paths))
      assert_match(/^All 1 tables are complete/, render(paths.first))
    end
  end

  def test_what_is_no_result_is_called_so
    { "\xFF\x00\x80\n" * 9 => /line 1 is not JSON/, "" => /empty/, "5" => /schema is missing/,
      %({"schema":"tiercel-lab/1"}) => /JSON, but not a result/,
      %({"schema":"tiercel-lab/99","run":{"command":"compare"}}) => /JSON, but not a result/ }.each do |bytes, words|
      Dir.mktmpdir do |folder|
        path = File.join(folder, "it").tap { |name| File.binwrite(name, bytes) }
        err = StringIO.new
        assert_equal 2, Lab::CLI.run(["report", path], out: StringIO.new, err:, program: "bin/lab"), bytes.inspect
        assert_match(words, err.string)
        assert_includes err.string, path
      end
    end
  end

  # A killed run may end in the middle of a character.
  def test_half_a_character_in_the_last_line
    files(results("Old", baseline: 4_000, store: 2_000)) do |paths, _folder|
      File.write(paths.first, "\n{\"type\": \"\xE2\x80", mode: "ab")
      assert_match(/memory_store/, render(paths.first))
    end
  end
end
