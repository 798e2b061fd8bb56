# frozen_string_literal: true

require_relative "../support/lab_case"

class SlowBlocksTest < LabCase
  SlowBlocks = Lab::Statistics::SlowBlocks

  # 60 ms in one of eight blocks, each with 5,000 calls of 4.7 us: once in 40,000 calls.
  def test_size_and_frequency_of_a_pause
    costs = Array.new(48) { |index| 4_700.0 + (index % 3) + (index % 8 == 7 ? 60e6 / 5_000 : 0.0) }
    slow = SlowBlocks.among(costs, calls: 5_000)
    assert_equal [6, 48], [slow.blocks, slow.of]
    assert_in_delta 60e6, slow.ns, 1e5
    assert_in_delta 40_000, slow.calls, 1
  end

  def test_ordinary_spread_has_none
    assert_nil SlowBlocks.among([100.0, 101.0, 99.0, 104.0, 96.0], calls: 10)
    assert_nil SlowBlocks.among([100.0] * 9, calls: 10)
  end
end
