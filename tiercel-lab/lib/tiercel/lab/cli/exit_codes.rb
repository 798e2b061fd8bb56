# frozen_string_literal: true

module Tiercel
  module Lab
    module CLI
      # The exit codes of the lab's commands.
      module ExitCodes
        OK = 0
        DOES_NOT_HOLD = 1
        USAGE = 2
        UNDECIDED = 3
        WRONG_VALUES = 4
        INTERRUPTED = 130

        MEANINGS = {
          OK => "done; every target holds",
          DOES_NOT_HOLD => "a target does not hold, or a regression is confirmed",
          USAGE => "the command line is invalid, or a file cannot be written",
          UNDECIDED => "a target is undecided, or a named store was not measured",
          WRONG_VALUES => "a store returned wrong values, or lost entries",
          INTERRUPTED => "interrupted (Ctrl-C); the results so far are kept"
        }.freeze
      end
    end
  end
end
