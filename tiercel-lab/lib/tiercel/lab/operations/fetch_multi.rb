# frozen_string_literal: true

require_relative "read_multi"

module Tiercel
  module Lab
    module Operations
      # A fetch_multi of a hundred that are all there.
      class FetchMulti < Multi
        called "fetch_multi", "a fetch_multi of 100 hits"

        def body = "store.fetch_multi(*inputs) { @misses += 1 }"

        def inputs(arm) = arm.names.first(SIZE)
      end
    end
  end
end
