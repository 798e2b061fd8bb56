# frozen_string_literal: true

require_relative "../contestant"

module Tiercel
  module Lab
    module Contestants
      # ActiveSupport::Cache::MemoryStore: a Hash in each process.
      class MemoryStore < Contestant
        # Its own default of 32 MB would prune in some cells; what is compared is the cost of calls.
        def build(context) = ActiveSupport::Cache::MemoryStore.new(size: context.capacity_bytes, **options)

        def configuration = configuration_line(":memory_store")
      end

      register "memory_store", MemoryStore
    end
  end
end
