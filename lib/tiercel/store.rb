# frozen_string_literal: true

require_relative "configuration"
require_relative "coder"
require_relative "guard"

module Tiercel
  # The parts of {ActiveSupport::Cache::TiercelStore}, each a module with one
  # subject. All of them together are what stands between Rails' cache API and
  # a {Backend}.
  module Store
  end
end

require_relative "store/keys"
require_relative "store/serialized_frame"
require_relative "store/entries"
require_relative "store/counters"
require_relative "store/maintenance"
require_relative "store/fast_path"
