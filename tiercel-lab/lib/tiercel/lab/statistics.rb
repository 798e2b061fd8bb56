# frozen_string_literal: true

require_relative "statistics/autoregression"
require_relative "statistics/change_points"
require_relative "statistics/descriptive"
require_relative "statistics/student"
require_relative "statistics/interval"
require_relative "statistics/mean_interval"
require_relative "statistics/median_interval"
require_relative "statistics/slow_blocks"
require_relative "statistics/interim_analyses"
require_relative "statistics/verdict"
require_relative "statistics/histogram"

module Tiercel
  module Lab
    # The lab's statistics: pure functions of Arrays of numbers. They need no library, and a seed gives the same result
    # on every machine.
    module Statistics
    end
  end
end
