# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"

class MustsDocumentTest < LabCase
  def test_every_target_with_its_figure_or_why_there_is_none
    figure = { estimate: 0.5, low: 0.4, high: 0.6 }
    targets = [{ id: "fast-1", text: "fast", cell: "a read / b read", bound: 0.7, state: "holds", figure:, note: nil },
               { id: "far-1", text: "far", cell: "c", bound: 1.1, state: "cannot_run", figure: nil, note: "no server" },
               { id: "lab-1", text: "time", cell: "", bound: nil, state: "elsewhere", figure: nil,
                 note: "bin/lab --quick" }]
    document = Lab::Tables::Musts::Table.report(Canned.results(command: "musts", targets:), command: "bin/lab musts")
    text = Lab::Report::Markdown.render(document)
    assert_match(/\*\*3 targets: 1 holds, 1 cannot run, 1 is decided by another command\.\*\*/, text)
    assert_match(/\| fast-1 \| holds \| 0\.500x .*\| 0\.700? \| fast \| a read \/ b read \|/, text)
    assert_match(/\| far-1 \| cannot run \| +\| 1\.10? \| far \| c; no server \|/, text)
    assert_match(/<svg/, Lab::Report::Html.render(document))
  end

  def test_a_target_that_a_kept_run_decides
    target = Lab::Tables::Musts::Targets.fetch("lab-all")
    Dir.mktmpdir do |folder|
      assert_equal :elsewhere, target.judge_kept(folder).state
      parts = Lab::CLI::All::Entry.all.map do |entry|
        { name: entry.name, arguments: [], state: "complete", seconds: 50, results: nil }
      end
      keep = lambda do |kept|
        File.write(File.join(folder, "20261120T180000Z-all-1.jsonl"),
                   JSON.generate(Canned.results(command: "all", parts: kept)))
        target.judge_kept(folder).state
      end
      assert_equal :holds, keep.call(parts)
      assert_equal :undecided, keep.call(parts.drop(1))
      assert_equal :fails, keep.call([*parts.drop(1), parts.first.merge(seconds: 500)])
      assert_equal :fails, keep.call([*parts.drop(1), parts.first.merge(state: "failed")])
    end
  end
end
