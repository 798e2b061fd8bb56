# frozen_string_literal: true

require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # One more on a counter that is there.
      class Increment < Operation
        called "increment", "an increment"

        def body = "store.increment(inputs[i])"

        def inputs(arm) = arm.names.map { |name| "#{name}-counter" }

        def setup(arm) = arm.inputs.each { |name| arm.store.write(name, 1, raw: true) }

        def verify(arm)
          name = arm.inputs.first
          before = arm.store.increment(name)
          after = arm.store.increment(name)
          return if before.is_a?(Integer) && after == before + 1
          raise WrongValue, "increment returned #{before.inspect}, then #{after.inspect}"
        end
      end
    end
  end
end
