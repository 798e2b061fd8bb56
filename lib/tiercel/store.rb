# frozen_string_literal: true

require_relative "configuration"
require_relative "key_pattern"
require_relative "redacted"
require_relative "test_worker"

module Tiercel
  # What {ActiveSupport::Cache::TiercelStore} calls.
  #
  #   Reader     bytes to values: expiry, version, tags;  Writer: values to frames with a TTL;  Counter
  #   Tags       groups of entries that are invalidated together
  #   Events     notifications and log lines, by Rails' `instrument`
  #   Hooks      the private methods that Rails' own public methods call;  Patches: whether these have to run
  #   Settings   builds the parts of one store
  #
  # All of them reach the stored data through one {Accessor}.
  module Store
  end
end

require_relative "store/compare_and_set"
require_relative "store/events"
require_relative "store/glob"
require_relative "store/settings"
