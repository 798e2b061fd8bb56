# frozen_string_literal: true

require_relative "configuration"
require_relative "coder"
require_relative "guard"

module Tiercel
  # The parts of {ActiveSupport::Cache::TiercelStore}, each a module with one
  # subject. All of them together are what stands between Rails' cache API and
  # a {Backend}; what they share is the store's {Settings}.
  #
  #   FastPath      the common calls: names to keys, values in and out
  #   Fetch         misses: single flight, leases, stale values; EarlyFetch: hits that end soon
  #   Events        notifications and log lines
  #   Reader        bytes to entries, their tags, copies;  Writer: values to frames, their TTL, the fill of a lease
  #   Tags          what invalidates entries together
  #   Entries       what Rails' own public methods call for all others: entries, frames
  #   Keys          what Rails makes of names; WorkerKeys: in parallel tests
  #   NamespaceGenerations      `clear` with a namespace, in one trip
  #   Counters      Maintenance      LocalCaching
  #
  # Below them is one {Accessor}, through which all of them reach what is kept.
  module Store
  end
end

require_relative "store/fetch"
require_relative "store/early_fetch"
require_relative "store/settings"
require_relative "store/keys"
require_relative "store/entries"
require_relative "store/counters"
require_relative "store/tags"
require_relative "store/maintenance"
require_relative "store/worker_keys"
require_relative "store/fast_path"
