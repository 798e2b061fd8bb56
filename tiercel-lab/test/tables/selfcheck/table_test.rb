# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/canned"

class SelfCheckCommandTest < LabCase
  # @param same [Array<String>] verdicts
  # @param planted [Array<String>]
  def judge(same:, planted:)
    rows = { "same" => same, "planted" => planted }.flat_map do |kind, verdicts|
      verdicts.each_with_index.map do |verdict, index|
        { recording: index, kind:, verdict:, processes: 6, ratio: { estimate: 1.0, low: 0.99, high: 1.01 } }
      end
    end
    results = Canned.results(command: "selfcheck", tables: { "selfcheck" => [rows, { threshold: 0.02 }] })
    Lab::Tables::Selfcheck::View.new(results, command: "bin/lab selfcheck")
  end

  def test_one_false_verdict_and_two_that_were_missed_are_too_many
    good = ["cannot_tell"] * 20
    found = ["slower"] * 20
    assert_equal "holds", judge(same: good, planted: found).state
    assert_equal "holds", judge(same: ["same"] * 20, planted: [*found.drop(1), "cannot_tell"]).state
    assert_equal "fails", judge(same: good, planted: [*found.drop(2), "cannot_tell", "cannot_tell"]).state
    assert_equal "fails", judge(same: [*good.drop(1), "slower"], planted: found).state
    assert_equal "undecided", judge(same: good.first(4), planted: found.first(4)).state
    assert_equal "fails", judge(same: good, planted: [*found.drop(1), "same"]).state
  end

  def test_what_it_says
    text = Lab::Report::Markdown.render(judge(same: ["same"] * 20, planted: ["slower"] * 20).build)
    assert_includes text, "different in 0 of 20 recordings; 5 % more was found in 20 of 20 and called " \
                          "the same in 0."
    assert_match(/beyond 2\.0 %, fixed beforehand/, text)
  end

  # The path of the long check, once; what is measured in so short a time decides nothing.
  def test_a_recording
    run_table(Lab::Tables::Selfcheck::Table, "--recordings", "1", protocol: TINY) do |code, command|
      rows = command.results["tables"].first["rows"]
      assert_equal [%w[same planted], [2, 2]],
                   [rows.map { |row| row["kind"] }, rows.map { |row| row["processes"] }]
      rows.each { |row| assert_includes 0.5..2.0, row["ratio"]["estimate"] }
      assert_includes [1, 3], code
    end
  end
end
