# frozen_string_literal: true

require_relative "../serializers/operations"

module Tiercel
  module Lab
    module Operations
      # Number of values that each process compares before and after the timing. Comparing all hundred values of a cell
      # would take longer than timing them.
      COMPARED = 25

      # A hit through serializer, compressor and store. A store does not fail for types that its serializer cannot keep.
      define "end_to_end_read", "a hit, all layers", like: "read", internal?: true do
        include SaysTheSame

        def verify(arm)
          arm.each_pair([COMPARED, arm.count].min) { |name, value| check(arm, value, arm.store.read(name)) }
        end
      end

      define "end_to_end_write", "a write, all layers", like: "write", internal?: true do
        include SaysTheSame

        def verify(arm)
          arm.each_pair([COMPARED, arm.count].min) do |name, value|
            raise WrongValue, "the write was refused" unless arm.store.write(name, value)
            check(arm, value, arm.store.read(name))
          end
        end
      end

      # Fetches the bytes of a combination through a raw socket: the time of the wire and of the server.
      define "wire_get", "the same bytes through a raw socket", kind: :wire, body: "store.read(names[i])",
                                                                server_time?: true, internal?: true do
        def inputs(arm) = arm.each_pair.map { |_name, value| arm.contestant.payload(value).freeze }

        def setup(arm) = arm.names.each_with_index { |name, index| arm.store.write(name, arm.inputs[index]) }

        def written(arm) = arm.names

        def verify(arm)
          arm.names.each_with_index do |name, index|
            found = arm.store.read(name)
            raise Missed, "nothing came back" if found.nil?
            raise WrongValue, "other bytes came back" unless found.b == arm.inputs[index]
          end
        end
      end

      define "wire_set", "the same bytes written through a raw socket", like: "wire_get",
                                                                        body: "store.write(names[i], inputs[i])"
    end
  end
end
