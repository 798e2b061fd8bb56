# frozen_string_literal: true

module Tiercel
  module Lab
    module Operations
      # A hundred hits in one call, with other names each time if there are more.
      define "read_multi_in_turn", "a read_multi of #{MANY}, of all names in turn", like: "read_multi",
             body: "store.read_multi(*inputs[i % inputs.size])" do
        def inputs(arm) = arm.names.each_slice(MANY).select { |slice| slice.size == MANY }

        def written(arm) = arm.names

        def verify(arm)
          arm.inputs.each_with_index do |names, slice|
            found = arm.store.read_multi(*names)
            raise Missed, "read_multi of #{MANY} names returned #{found.size}" if found.size < MANY
            names.each_with_index do |name, index|
              arm.expect(arm.values[((slice * MANY) + index) % arm.values.size], found[name])
            end
          end
        end
      end

      # The first hit of an entry after its write, before the process keeps anything of it.
      define "first_read", "the first hit of what was written", like: "read", body: "store.read(inputs[i])",
                                                              prepared?: true do
        # At least as many names as a slice has calls, so that no name is read twice.
        def names_for(value) = [value.count, Operation.prepared_calls(value)].max

        def inputs(arm) = arm.names.map { |name| "#{name}-new" }

        def setup(arm) = before_slice(arm, arm.count)

        def before_slice(arm, calls)
          arm.inputs.first(calls).each_with_index do |name, index|
            arm.store.write(name, arm.values[index % arm.values.size])
          end
        end

        def verify(arm)
          arm.inputs.each_with_index do |name, index|
            arm.store.write(name, arm.values[index % arm.values.size])
            arm.expect(arm.values[index % arm.values.size], arm.store.read(name))
          end
        end
      end
    end
  end
end
