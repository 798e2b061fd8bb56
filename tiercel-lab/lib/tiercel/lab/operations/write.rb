# frozen_string_literal: true

require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # An overwrite through the public API.
      class Write < Operation
        called "write", "a write"

        def body = "store.write(names[i], values[i])"

        def verify(arm)
          arm.each_pair do |name, value|
            answer = arm.store.write(name, value)
            raise WrongValue, "write returned #{answer.inspect}" unless answer
            arm.expect(value, arm.store.read(name))
          end
        end
      end

      # A write of a new name into a store that is full, so that something has to go for each.
      class WriteFull < Operation
        called "write_full", "a write into a full store"

        # Small, so that filling it takes no long time.
        CAPACITY_BYTES = 16 * 1024 * 1024
        # The names are several times what fits, gone through in order.
        ROUNDS = 3
        # How many of them are looked at.
        SAMPLE = 1_000

        def body = "store.write(names[i], values[i % values.size])"

        def capacity_bytes = CAPACITY_BYTES

        def unsuitable(value) = ("more than a hundredth of the store" if value.approximate_bytes > CAPACITY_BYTES / 100)

        def names_for(value) = ROUNDS * CAPACITY_BYTES / value.approximate_bytes

        def setup(arm)
          arm.names.each_with_index { |name, index| put(arm, name, index % arm.values.size) }
        end

        # What was written last is there; of the others, some are not.
        def verify(arm)
          name = arm.names.last
          put(arm, name, 0)
          expect(arm, name, 0)
          sample = arm.names.each_slice([arm.count / SAMPLE, 1].max).map(&:first)
          return unless sample.all? { |other| get(arm, other) }
          raise WrongValue, "the store kept everything: it has not the size it was given"
        end

        private

        # `index` is that of the value.
        def put(arm, name, index) = arm.store.write(name, arm.values[index])
        def get(arm, name) = arm.store.read(name)
        def expect(arm, name, index) = arm.expect(arm.values[index], get(arm, name))
      end
    end
  end
end
