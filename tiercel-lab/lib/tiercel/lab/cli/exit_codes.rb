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
          OK => "done; nothing asked about does not hold",
          DOES_NOT_HOLD => "a target does not hold, or a regression was confirmed",
          USAGE => "the command line cannot be followed",
          UNDECIDED => "a target is undecided, or what was named could not be measured",
          WRONG_VALUES => "a store returned wrong values, or nothing in place of one",
          INTERRUPTED => "interrupted (Ctrl-C); what was measured is kept"
        }.freeze
      end
    end
  end
end
