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

  def test_a_block_is_every_arm_once_and_then_in_reverse
    block = Slots.block([3, 1, 2], 1)
    assert_equal [1, 2, 3, 3, 2, 1], block
    starts = Array.new(3) { |number| Slots.block([3, 1, 2], number).first }
    assert_equal [3, 1, 2], starts
  end

  FULL = Lab::Engine::Protocol::FULL

  # How much of a pause's cost the recorded slices of each process contain, as a multiple of its true share.
  def seen(every, processes)
    recorded = FULL.blocks * 2
    pauses = Array.new(processes) do |process|
      position = FULL.head_start(process)
      recorded.times.sum do
        start = position += Lab::Engine::Protocol::LEAD_IN
        ((position += 1.0) / every).floor - (start / every).floor
      end
    end
    pauses.sum.fdiv(processes * recorded) * every
  end

  def test_head_starts_spread_the_pauses_of_a_fresh_store_over_the_recorded_slices
    [4.3, 8.0, 10.0, 16.47].product([6, 12, 24]) do |every, processes|
      assert_in_delta 1.0, seen(every, processes), 0.2, "every #{every} slices, #{processes} processes"
    end
    [33.3, 40.0, 45.0].product([12, 24]) do |every, processes|
      assert_in_delta 1.0, seen(every, processes), 0.3, "every #{every} slices, #{processes} processes"
    end
    assert_operator seen(60.0, 24), :>, 0.3
  end
end
