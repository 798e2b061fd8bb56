# frozen_string_literal: true

require_relative "support"

# `memory:`, whose stores share nothing, like Rails' memory stores.
class MemoryBehavioursTest < RailsBehaviours::TestCase
  include(*RailsBehaviours::MEMORY)

  private

  def url = "memory:"

  # A near backend stores small values uncompressed, because that is cheaper.
  def compression_always_disabled_by_default? = true
end
