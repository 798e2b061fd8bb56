# frozen_string_literal: true

require_relative "read_multi"

module Tiercel
  module Lab
    module Operations
      # A hundred writes in one call.
      class WriteMulti < Multi
        called "write_multi", "a write_multi of 100"

        def body = "store.write_multi(inputs)"

        def inputs(arm) = arm.each_pair(SIZE).to_h

        def verify(arm)
          arm.store.write_multi(arm.inputs)
          super
        end
      end
    end
  end
end
