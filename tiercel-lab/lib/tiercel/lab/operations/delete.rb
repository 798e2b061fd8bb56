# frozen_string_literal: true

require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # A delete of what is there; it is written anew before every slice.
      class Delete < Operation
        called "delete", "a delete"

        def body = "store.delete(inputs[i])"

        def inputs(arm) = arm.names.map { |name| "#{name}-to-delete" }

        def names_for(value) = [value.count, Protocol::PREPARED_CALLS].max

        def setup(arm); end

        def prepared? = true

        def before_slice(arm, calls)
          arm.inputs.first(calls).each_with_index do |name, index|
            arm.store.write(name, arm.values[index % arm.values.size])
          end
        end

        def verify(arm)
          arm.inputs.first(arm.values.size).each_with_index do |name, index|
            arm.store.write(name, arm.values[index])
            arm.expect(arm.values[index], arm.store.read(name))
            raise WrongValue, "delete of what is there returned false" unless arm.store.delete(name)
            raise WrongValue, "a deleted name is still there" unless arm.store.read(name).nil?
          end
        end
      end
    end
  end
end
