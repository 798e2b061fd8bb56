# frozen_string_literal: true

require_relative "../support/lab_case"

class LoadKeysTest < LabCase
  def keys(...) = Lab::Load::Keys.new(...)

  def test_in_turn_goes_on_where_it_was
    ours = keys(items: 3)
    assert_equal [[0, 1], [2, 0]], [ours.draw(2), ours.draw(2)]
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
