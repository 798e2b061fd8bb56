# frozen_string_literal: true

require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # A hit through the public API.
      class Read < Operation
        called "read", "a hit"

        def body = "store.read(names[i])"

        def verify(arm) = arm.each_pair { |name, value| arm.expect(value, arm.store.read(name)) }
      end
    end
  end
end
