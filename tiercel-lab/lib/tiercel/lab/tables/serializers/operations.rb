# frozen_string_literal: true

require_relative "../../operations"

module Tiercel
  module Lab
    module Operations
      # Whether what came back says the same, as far as the contestant's serializer can.
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

      # A serializer makes bytes of an object.
      define "dump", "dumping", kind: :serializer, body: "store.dump(values[i])", internal?: true do
        include SaysTheSame

        # Before anything is timed: some libraries fail in ways that a worker does not survive.
        def setup(arm)
          arm.each_pair { |_name, value| dump(arm, value) }
        end

        def written(_arm) = []

        # Each value for itself; what is known to come back as JSON says is compared as that.
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

      # A serializer makes an object of bytes.
      define "load", "loading", like: "dump", body: "store.load(inputs[i])" do
        def inputs(arm) = arm.each_pair.map { |_name, value| dump(arm, value).freeze }

        def setup(_arm); end

        def verify(arm)
          arm.each_pair.zip(arm.inputs) { |(_name, value), bytes| check(arm, value, arm.store.load(bytes)) }
        end
      end

      # Both, one after the other.
      define "dump_load", "dumping and loading", like: "dump", body: "store.load(store.dump(values[i]))"
    end
  end
end
