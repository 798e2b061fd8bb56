# frozen_string_literal: true

# Makes a store treat every `fetch` as part of a series of consecutive misses.
module ColdRuns
  # @param store [ActiveSupport::Cache::TiercelStore]
  # @return [ActiveSupport::Cache::TiercelStore] the same store
  def self.always(store)
    run = store.instance_variable_get(:@settings).cold_run
    run&.define_singleton_method(:long?) { true }
    store
  end
end
