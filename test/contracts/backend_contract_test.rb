# frozen_string_literal: true
# quick

require "test_helper"
require "support/ruby_memory"

# The contract over the simplest backend, which has the default forms of every method: claims, leases, tags.
class BackendContractTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def build_backend = RubyMemory.new

  # A lineage outlives its lease by ten times the lease's time, and by a minute at least.
  def test_the_value_of_a_very_slow_block_is_stored
    { 1 => 60, 30 => 300 }.each do |ttl, seconds|
      mine = take_lease(ttl:)
      travel(seconds) { assert leases.fill(mine, "slow", nil), ttl }
      backend.delete("key")
    end
  end
end
