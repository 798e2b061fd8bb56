# frozen_string_literal: true

require "test_helper"
require "support/mutants"

# Each fault of `rake mutants` has exactly one place in its file.
class MutantsTest < Tiercel::TestCase
  ROOT = File.expand_path("../..", __dir__)

  def test_every_fault_can_be_planted
    assert_empty Mutants.new(ROOT).misplaced(ROOT)
  end
end
