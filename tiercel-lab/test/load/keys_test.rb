# frozen_string_literal: true

require_relative "../support/lab_case"

class LoadKeysTest < LabCase
  def keys(...) = Lab::Load::Keys.new(...)

  def test_in_turn_goes_on_where_it_was
    ours = keys(items: 3)
    assert_equal [[0, 1], [2, 0]], [ours.draw(2), ours.draw(2)]
  end

  def test_near_and_new_never_asks_for_a_new_one_twice
    ours = keys(items: 260, kind: "near and new")
    first, second = ours.draw(40, near: 10), ours.draw(30, near: 0)
    near = Lab::Load::Keys::NEAR
    assert_equal [10, 0], [first, second].map { |drawn| drawn.count { |index| index < near } }
    assert_equal (near...260).to_a, (first + second).select { |index| index >= near }.sort
    assert ours.draw(50).all? { |index| index < near }
  end

  def test_zipf_asks_for_the_first_most_and_uniform_does_not
    counts = %w[zipf uniform].map { |kind| keys(items: 10, kind:).draw(4_000).tally[0] }
    assert_in_delta 4_000 / 2.93, counts.first, 150
    assert_in_delta 400, counts.last, 100
  end

  def test_entries_are_the_same_in_every_process_and_know_another_value
    one, other = Array.new(2) { Lab::Load::Entries.new(label: "x", items: 20, bytes: 50, seed: 1) }
    assert_equal one.names, other.names
    assert_equal [50], Array.new(20) { |index| one.value(index).bytesize }.uniq
    assert_equal 20, Array.new(20) { |index| other.value(index) }.uniq.size
    assert_nil one.check(3, other.value(3))
    assert_raises(Lab::WrongValue) { one.check(3, one.value(4)) }
    assert_raises(Lab::Missed) { one.check(3, nil) }
    assert_nil one.check(3, nil, must: false)
  end
end
