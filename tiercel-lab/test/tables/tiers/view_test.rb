# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../golden/recording"

class TiersSentenceTest < LabCase
  def sentence(verdict)
    results = Recording.new("tiers").results
    near = results["cells"].find { |cell| cell["contestant"]["name"] == "near-hit" }
    near["summary"]["verdict"] = verdict
    Lab::Tables::Tiers::View.new(results, command: "bin/lab tiers").sentence
  end

  # Two figures side by side would claim a difference.
  def test_a_near_hit_has_a_figure_only_where_the_verdict_carries_one
    unknown = sentence("cannot_tell")
    assert_match(/A near hit of shared: redis: cannot be told from one of the near tier alone \(/, unknown)
    assert_match(/costs the same as one of the near tier alone \(/, sentence("same"))
    assert_match(/costs 0\.\d+x of the near tier alone \(/, sentence("faster"))
  end
end
