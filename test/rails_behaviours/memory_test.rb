# frozen_string_literal: true

require_relative "support"

# `memory:`, whose stores share nothing with each other, as Rails' memory store's do not.
class MemoryBehavioursTest < RailsBehaviours::TestCase
  include(*RailsBehaviours::MEMORY)

  private

  def url = "memory:"

  # A near backend: small values are cheaper to keep than to compress.
  def compression_always_disabled_by_default? = true
end
