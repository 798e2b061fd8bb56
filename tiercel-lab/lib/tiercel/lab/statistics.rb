# frozen_string_literal: true

require_relative "statistics/autoregression"
require_relative "statistics/change_points"
require_relative "statistics/descriptive"
require_relative "statistics/student"
require_relative "statistics/interval"
require_relative "statistics/mean_interval"
require_relative "statistics/median_interval"
require_relative "statistics/slow_blocks"
require_relative "statistics/looks"
require_relative "statistics/verdict"
require_relative "statistics/histogram"

module Tiercel
  module Lab
    # The lab's statistics of its samples: pure functions of Arrays of
    # numbers, without a dependency, the same on every machine for a seed.
    module Statistics
    end
  end
end
