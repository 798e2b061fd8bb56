# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/canned"

class SelfCheckCommandTest < LabCase
  # @param verdicts [Hash{Symbol => Array<String>}] by kind
  def judge(**verdicts)
    rows = verdicts.flat_map do |kind, words|
      words.each_with_index.map do |verdict, index|
        { recording: index, kind:, verdict:, processes: 6, ratio: { estimate: 1.0, low: 0.99, high: 1.01 },
          extra_ns: 12.0 }
      end
    end
    results = Canned.results(command: "selfcheck", tables: { "selfcheck" => [rows, { threshold: 0.02 }] })
    Lab::Tables::Selfcheck::View.new(results, command: "bin/lab selfcheck")
  end

  GOOD = ["cannot_tell"] * 20
  FOUND = ["slower"] * 20

  def test_one_false_verdict_and_three_that_were_missed_are_too_many
    assert_equal "holds", judge(same: GOOD, planted: FOUND).state
    assert_equal "holds", judge(same: ["same"] * 40, planted: [*FOUND.drop(2), "cannot_tell", "uneven"]).state
    assert_equal "fails", judge(same: GOOD, planted: [*FOUND.drop(3), *["cannot_tell"] * 3]).state
    assert_equal "fails", judge(same: [*GOOD.drop(1), "slower"], planted: FOUND).state
    assert_equal "undecided", judge(same: GOOD.first(4), planted: FOUND.first(4)).state
    assert_equal "fails", judge(same: GOOD, planted: [*FOUND.drop(1), "same"]).state
  end

  def test_rare_pauses_are_uneven_or_slower_and_kept_objects_slower_every_time
    assert_equal "holds", judge(pause: [*FOUND.drop(5), *["uneven"] * 5], sleep: ["uneven"] * 20, kept: FOUND).state
    assert_equal "fails", judge(kept: [*FOUND.drop(1), "uneven"]).state
    assert_equal "fails", judge(pause: [*FOUND.drop(1), "same"]).state
  end

  def test_what_it_says
    text = Lab::Report::Markdown.render(judge(same: ["same"] * 20, planted: FOUND, pause: ["uneven"] * 20).build)
    assert_includes text, "The same work was called different in 0 of 20 comparisons; 5 % more: found in 20 of 20"
    assert_match(/beyond 2\.0 %, fixed beforehand/, text)
    refute_match(/do not decide/, text)
    few = Lab::Report::Markdown.render(judge(same: GOOD.first(4)).build)
    assert_match(/Fewer than 20 recordings do not decide/, few)
    assert_match(/60 ms of work every 40,000 calls .*12 ns .*1,500 ns/, text)
  end

  # Runs the code of the long check once. So short a measurement decides nothing.
  def test_a_recording
    run_table(Lab::Tables::Selfcheck::Table, "--recordings", "1", "--kind", "same,planted,sleep",
              protocol: TINY) do |code, command|
      rows = command.results["tables"].first["rows"]
      assert_equal [%w[same planted sleep same], [1]],
                   [rows.map { |row| row["kind"] }, rows.map { |row| row["processes"] }.uniq]
      rows.each { |row| assert_operator row["ratio"]["estimate"], :>, 0 }
      assert_includes [1, 3], code
      assert_match(/1 recordings, \d+ s each/, command.out.string)
    end
    assert_refused(%w[selfcheck --kind pauses] => /pause/)
  end
end
