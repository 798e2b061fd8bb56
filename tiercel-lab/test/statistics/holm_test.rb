# frozen_string_literal: true

require_relative "../support/lab_case"

class HolmTest < LabCase
  # R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
  def test_agrees_with_r
    [0.03, 0.06, 0.06, 0.02].zip(Lab::Statistics.holm([0.01, 0.04, 0.03, 0.005])) do |expected, found|
      assert_in_delta expected, found
    end
  end

  def test_never_above_one_and_empty_for_none
    assert_equal [1.0, 1.0], Lab::Statistics.holm([0.9, 0.8])
    assert_empty Lab::Statistics.holm([])
  end
end
