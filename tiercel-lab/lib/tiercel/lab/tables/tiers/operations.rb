# frozen_string_literal: true

require_relative "../../operations"

module Tiercel
  module Lab
    module Operations
      # A near tier alone is timed by its CPU time elsewhere, a stack by the wall clock, as what waits for a server.
      # Where one is divided by the other both are timed alike, with what the thread that hears of changes takes.
      define "wall_read", "a hit by the wall clock", like: "read", clock: :wall, internal?: true
    end
  end
end
