# frozen_string_literal: true

require_relative "../serializers/operations"

module Tiercel
  module Lab
    module Operations
      # Values that are compared, before and after, in each process: there are many cells, and to compare all hundred
      # took longer than to time them.
      COMPARED = 25

      # A hit through serializer, compressor and store; what a serializer loses by its nature is not held against the
      # store.
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

      # The bytes that a combination keeps, fetched through a raw socket: what the wire and the server take of it.
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
