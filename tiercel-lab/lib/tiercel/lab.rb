# frozen_string_literal: true

module Tiercel
  # The instrument that measures and compares cache stores. Its command line
  # is `tiercel-lab` (in this repository: `bin/lab`); see docs/lab.md.
  module Lab
  end
end

require_relative "lab/version"
require_relative "lab/errors"
require_relative "lab/protocol"
require_relative "lab/statistics"
require_relative "lab/values"
require_relative "lab/operations"
require_relative "lab/contestants"
require_relative "lab/comparison"
require_relative "lab/measurement"
require_relative "lab/results"
require_relative "lab/session"
require_relative "lab/commands"
