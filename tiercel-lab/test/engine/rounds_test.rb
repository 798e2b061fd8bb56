# frozen_string_literal: true

require_relative "../support/lab_case"

class RoundsTest < LabCase
  # @param shares [Array<Float, nil>] shares of each round's time that other programs took
  # @return [Array(Integer, Array<Integer>)] number of rounds, and the numbers of those set aside
  def rounds(*shares, size: 6, again: true, room: true)
    rounds = Lab::Engine::Rounds.new { |process| shares.fetch(process) }
    rounds.make(size, again:, whole: true) { room }
    [rounds.made, rounds.aside(size)]
  end

  def test_a_disturbed_round_is_made_again
    assert_equal [7, [2]], rounds(0.0, 0.0, 0.4, 0.0, 0.01, 0.0, 0.02)
    assert_equal [8, [1, 2]], rounds(0.0, 0.2, 0.4, 0.0, 0.01, 0.0, 0.02, 0.0)
  end

  def test_a_quiet_machine_and_one_that_does_not_tell_make_none_more
    assert_equal [6, []], rounds(*[0.01] * 6)
    assert_equal [6, []], rounds(*[nil] * 6)
    assert_equal [6, []], rounds(*[0.5] * 6, again: false)
    assert_equal [6, []], rounds(*[0.5] * 6, room: false)
  end

  # A busy loop in another process disturbs all rounds alike.
  def test_a_machine_that_stays_busy_makes_one_more_at_most
    assert_equal [7, [6]], rounds(*[0.5] * 7)
  end

  def test_no_more_than_a_third_more
    assert_equal [8, [4, 5]], rounds(0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0)
  end

  def test_a_later_look_counts_on
    rounds = Lab::Engine::Rounds.new { |process| process == 2 ? 0.4 : 0.0 }
    rounds.make(6, again: true) { true }
    rounds.make(12, again: true, whole: true) { true }
    assert_equal [13, [2]], [rounds.made, rounds.aside(12)]
  end

  # Every second round reverses the order of the arms, so rounds beyond the second come in pairs.
  def test_without_room_no_pair_begins
    { [] => 1, [1] => 2, [1, 2] => 4, [1, 2, 2] => 6 }.each do |answers, made|
      asked = []
      rounds = Lab::Engine::Rounds.new { 0.0 }
      rounds.make(6, again: false) { |number| asked << number && answers.size >= asked.size }
      assert_equal made, rounds.made
      assert_equal [1, 2, 2].first(answers.size + 1), asked
    end
  end
end
