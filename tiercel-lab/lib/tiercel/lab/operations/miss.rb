# frozen_string_literal: true

require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # A read of a name that nobody wrote, in a store that holds the others.
      class Miss < Operation
        called "miss", "a miss"

        def body = "store.read(inputs[i])"

        def inputs(arm) = arm.names.map { |name| "#{name}-absent" }

        def verify(arm)
          arm.inputs.each do |name|
            found = arm.store.read(name)
            raise WrongValue, "read of a name that nobody wrote returned #{found.class}" unless found.nil?
          end
          arm.each_pair { |name, value| arm.expect(value, arm.store.read(name)) }
        end
      end
    end
  end
end
