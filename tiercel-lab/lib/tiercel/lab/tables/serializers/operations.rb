# frozen_string_literal: true

require_relative "../../operations"

module Tiercel
  module Lab
    module Operations
      # Compares a loaded value with the original, as far as the serializer keeps it.
      module SaysTheSame
        private

        def check(arm, value, found)
          library = arm.contestant.library
          return arm.expect(value, found) if library.form == :value
          raise Missed, "nothing came back for what had been written" if found.nil?
          return if library.same_as_json?(value, found)
          raise CannotRun,
                "does not keep #{value.is_a?(Array) ? "an Array of #{value.first.class}" : "a #{value.class}"}"
        end
      end

      # Serializes an object.
      define "dump", "dumping", kind: :serializer, body: "store.dump(values[i])", internal?: true do
        include SaysTheSame

        # Dumps every value before the timing starts: some libraries crash the worker.
        def setup(arm)
          arm.each_pair { |_name, value| dump(arm, value) }
        end

        def written(_arm) = []

        # Compares every value; a serializer that returns JSON types is compared with the JSON form.
        def verify(arm)
          arm.each_pair { |_name, value| check(arm, value, arm.store.load(arm.store.dump(value))) }
        end

        private

        def dump(arm, value)
          arm.store.dump(value)
        rescue NoMemoryError, SystemStackError => e
          raise CannotRun, "cannot dump a #{value.class}: #{e.class}, #{e.message.strip}"
        end
      end

      # Loads an object from its bytes.
      define "load", "loading", like: "dump", body: "store.load(inputs[i])" do
        def inputs(arm) = arm.each_pair.map { |_name, value| dump(arm, value).freeze }

        def setup(_arm); end

        def verify(arm)
          arm.each_pair.zip(arm.inputs) { |(_name, value), bytes| check(arm, value, arm.store.load(bytes)) }
        end
      end

      # Serializes an object and loads it again.
      define "dump_load", "dumping and loading", like: "dump", body: "store.load(store.dump(values[i]))"
    end
  end
end
