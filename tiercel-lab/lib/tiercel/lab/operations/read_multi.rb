# frozen_string_literal: true

require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # What the operations on many names have in common: the arm's names in groups of {SIZE}, one group a call.
      class Multi < Operation
        SIZE = 100

        def unsuitable(value) = ("#{SIZE} such values a call are no use case" if value.large?)

        # Values repeat where there are fewer than a group.
        def names_for(value) = [value.count, SIZE].max

        def verify(arm)
          found = arm.store.read_multi(*arm.names.first(SIZE))
          raise Missed, "read_multi of #{SIZE} names returned #{found.size}" if found.size < SIZE
          arm.each_pair(SIZE) { |name, value| arm.expect(value, found[name]) }
        end
      end

      # A hundred hits in one call.
      class ReadMulti < Multi
        called "read_multi", "a read_multi of 100"

        def body = "store.read_multi(*inputs)"

        def inputs(arm) = arm.names.first(SIZE)
      end
    end
  end
end
