# frozen_string_literal: true

require_relative "history/archive"
require_relative "history/changes"
require_relative "history/view"

module Tiercel
  module Lab
    # Results over time: a series for each cell, the steps in it, and alerts.
    module History
    end
  end
end
