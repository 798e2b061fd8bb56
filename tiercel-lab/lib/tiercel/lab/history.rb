# frozen_string_literal: true

require_relative "history/archive"
require_relative "history/changes"
require_relative "history/view"

module Tiercel
  module Lab
    # Results over time: series of cells, the steps in them, and who is to be told.
    module History
    end
  end
end
