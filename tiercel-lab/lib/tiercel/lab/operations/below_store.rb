# frozen_string_literal: true

module Tiercel
  module Lab
    module Operations
      # The common part of operations below Rails' code: they call the methods of a Tiercel backend, which stores bytes.
      # Values that are not Strings are marshalled beforehand.
      module BelowStore
        def preamble = "backend = store.backend"

        def inputs(arm)
          arm.values.map { |value| (value.is_a?(String) ? value.b : Marshal.dump(value)).freeze }
        end

        # The inputs of these operations are bytes, so they use the arm's names.
        def written(arm) = arm.names

        private

        def backend(arm)
          return arm.store.backend if arm.store.respond_to?(:backend)
          raise CannotRun, "#{arm.store.class} has no backend of its own to ask"
        end

        def expect_bytes(arm, name, bytes)
          found = backend(arm).get(name)
          raise Missed, "get returned nil" if found.nil?
          raise WrongValue, "get returned other bytes" unless found.b == bytes
        end
      end

      # Gets an existing entry from the backend.
      define "backend_get", "the backend's own get", body: "backend.get(names[i])", internal?: true do
        include BelowStore

        def setup(arm)
          arm.names.each_with_index { |name, index| backend(arm).set(name, arm.inputs[index]) }
        end

        def verify(arm)
          arm.names.each_with_index { |name, index| expect_bytes(arm, name, arm.inputs[index]) }
        end
      end

      # Overwrites an entry in the backend.
      define "backend_set", "the backend's own set", like: "backend_get", body: "backend.set(names[i], inputs[i])" do
        def verify(arm)
          arm.names.each_with_index { |name, index| backend(arm).set(name, arm.inputs[index]) }
          super
        end
      end

      # Sets a new key in a full backend.
      define "backend_set_full", "the backend's own set when it is full", like: "write_full", internal?: true,
                                                                          body: "backend.set(names[i], " \
                                                                                "inputs[i % inputs.size])" do
        include BelowStore

        private

        def put(arm, name, index) = backend(arm).set(name, arm.inputs[index])

        def get(arm, name) = backend(arm).get(name)

        def expect(arm, name, index) = expect_bytes(arm, name, arm.inputs[index])
      end
    end
  end
end
