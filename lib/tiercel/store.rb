# frozen_string_literal: true

require_relative "configuration"
require_relative "coder"
require_relative "guard"

module Tiercel
  # The parts of {ActiveSupport::Cache::TiercelStore}: modules with one subject each. Together they connect Rails'
  # cache API to a {Backend}. They share the store's {Settings}.
  #
  #   FastPath      the common calls: arguments to keys, values in and out
  #   Fetch         misses: single flight, leases, stale values; EarlyFetch: hits close to their expiry
  #   Events        notifications and log lines
  #   Reader        bytes to entries, their tags, copies;  Writer: values to frames, their TTL, the fill of a lease
  #   Tags          groups of entries that are invalidated together
  #   RailsHooks    the private methods that Rails' public methods call: entries, frames
  #   Keys          Rails' key normalization; WorkerKeys: keys of parallel tests
  #   NamespaceGenerations      `clear` with a namespace, in one trip
  #   Counters      Maintenance      LocalCaching
  #
  # All of them reach the stored data through one {Accessor}.
  module Store
  end
end

require_relative "store/fetch"
require_relative "store/settings"
require_relative "store/keys"
require_relative "store/rails_hooks"
require_relative "store/counters"
require_relative "store/tags"
require_relative "store/compare_and_set"
require_relative "store/maintenance"
require_relative "store/worker_keys"
require_relative "store/fast_path"
