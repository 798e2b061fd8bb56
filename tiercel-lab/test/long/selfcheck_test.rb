# frozen_string_literal: true

require_relative "../support/lab_case"

# Runs the lab on known work: 20 fresh recordings of the same work and of 5 % more.
class LongSelfcheckTest < LabCase
  def test_no_false_verdict_and_planted_work_is_found
    skip "long tier" unless long?
    run_table(Lab::Tables::Selfcheck::Table, protocol: Lab::Engine::Protocol::FULL) do |code, command|
      assert_equal 0, code, command.document.verdicts.first.sentence
    end
  end
end
