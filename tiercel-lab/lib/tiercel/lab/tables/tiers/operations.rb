# frozen_string_literal: true

require_relative "../../operations"

module Tiercel
  module Lab
    module Operations
      # Other tables time a near tier by CPU time, and a stack of tiers by wall-clock time. A ratio of the two needs one
      # clock, so both use the wall clock here, which includes the listener thread.
      define "wall_read", "a hit by the wall clock", like: "read", clock: :wall, internal?: true
    end
  end
end
