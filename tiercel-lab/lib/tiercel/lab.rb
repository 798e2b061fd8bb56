# frozen_string_literal: true

require_relative "lab/version"
require_relative "lab/tables"

module Tiercel
  # The instrument that measures and compares cache stores. Its command line is `tiercel-lab` (in this repository:
  # `bin/lab`); see tiercel-lab/docs/lab.md.
  module Lab
  end
end
