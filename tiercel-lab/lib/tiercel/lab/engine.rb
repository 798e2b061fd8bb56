# frozen_string_literal: true

require_relative "engine/comparison"
require_relative "engine/job"
require_relative "engine/machine"
require_relative "engine/measurement"
require_relative "engine/outcome"
require_relative "engine/paired"
require_relative "engine/protocol"
require_relative "engine/results"
require_relative "engine/run"
require_relative "engine/trial"

module Tiercel
  module Lab
    # The measuring engine: plans, fresh processes, slices and their summaries. It does not know the tables, and does
    # not print.
    module Engine
    end
  end
end
