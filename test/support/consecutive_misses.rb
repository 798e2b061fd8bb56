# frozen_string_literal: true

# Stores in which every `fetch` follows consecutive misses, so that it reads and acquires the lease in one trip.
module ConsecutiveMisses
  # @param store [ActiveSupport::Cache::TiercelStore]
  # @return [ActiveSupport::Cache::TiercelStore] the same
  def self.always(store)
    misses = store.instance_variable_get(:@settings).consecutive_misses
    misses&.define_singleton_method(:count) { Tiercel::Store::Fetch::ConsecutiveMisses::MANY }
    store
  end
end
