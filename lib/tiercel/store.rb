# frozen_string_literal: true

# The parts of a store, which {ActiveSupport::Cache::TiercelStore} calls.
#
#   Reader     bytes to values: expiry, version, tags;  Writer: values to frames with a TTL;  Counter
#   Tags       groups of entries that are invalidated together
#   Hooks      the private methods that Rails' own public methods call;  Patches: whether these have to run
#   Settings   builds the parts of one store
#
# Every part reaches the stored data through one {Accessor}.
module Tiercel::Store
  autoload :CompareAndSet, "tiercel/store/compare_and_set"
  autoload :Counter, "tiercel/store/counter"
  autoload :Hooks, "tiercel/store/hooks"
  autoload :Patches, "tiercel/store/hooks"
  autoload :Reader, "tiercel/store/reader"
  autoload :Settings, "tiercel/store/settings"
  autoload :Subscriptions, "tiercel/store/subscriptions"
  autoload :Tags, "tiercel/store/tags"
  autoload :Writer, "tiercel/store/writer"
end

