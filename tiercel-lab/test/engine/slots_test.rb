# frozen_string_literal: true

require_relative "../support/lab_case"

class SlotsTest < LabCase
  Slots = Lab::Engine::Slots
  IDS = (0..5).to_a.freeze

  def test_any_arm_comes_before_any_other_in_half_of_the_processes
    orders = Array.new(6) { |process| Slots.order(IDS, process:, seed: 1) }
    IDS.combination(2) do |one, other|
      assert_equal 3, orders.count { |order| order.index(one) < order.index(other) }
    end
  end

  def test_orders_are_those_of_the_seed_and_not_always_the_same
    assert_equal Slots.order(IDS, process: 2, seed: 1), Slots.order(IDS, process: 2, seed: 1)
    assert_operator Array.new(6) { |process| Slots.order(IDS, process:, seed: 1) }.uniq.size, :>, 2
  end

  def test_a_block_is_every_arm_once_and_then_in_reverse
    block = Slots.block([3, 1, 2], 1)
    assert_equal [1, 2, 3, 3, 2, 1], block
    starts = Array.new(3) { |number| Slots.block([3, 1, 2], number).first }
    assert_equal [3, 1, 2], starts
  end
end
