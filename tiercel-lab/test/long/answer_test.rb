# frozen_string_literal: true

require_relative "../support/lab_case"

# Compares the answers of quick runs with full runs, see {Tiercel::Lab::Tables::Choice}. Takes a quarter of an hour on a
# quiet machine.
class LongAnswerTest < LabCase
  def setup
    super
    skip "long tier" unless long?
  end

  def test_the_first_choice_of_a_quick_run_is_that_of_a_full_one
    run_command(Lab::Tables::Choice::Table) { |code, command| assert_equal 0, code, command.out.string }
  end
end
