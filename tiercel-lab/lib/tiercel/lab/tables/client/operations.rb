# frozen_string_literal: true

require_relative "../../operations"

module Tiercel
  module Lab
    module Operations
      # The common part of operations on clients: bytes under keys. Values that are not Strings are marshalled.
      class OnClient < Operation
        facts kind: :client

        def setup(arm)
          pairs = pairs(arm)
          arm.store.prepare(pairs) if raw?(arm)
          pairs.each { |name, bytes| arm.store.set(name, bytes) }
        end

        def inputs(arm) = arm.values.map { |value| bytes_of(value) }

        def written(arm) = arm.names

        def verify(arm) = expect(arm, pairs(arm))

        private

        def bytes_of(value) = (value.is_a?(String) ? value.b : Marshal.dump(value)).freeze

        def pairs(arm, limit = arm.count) = arm.each_pair(limit).to_h { |name, value| [name, bytes_of(value)] }

        # A raw socket prepares its requests before the timing.
        def raw?(arm) = arm.store.respond_to?(:prepare)

        def expect(arm, pairs)
          return arm.store.expect(pairs) if raw?(arm)
          pairs.each do |name, bytes|
            found = arm.store.get(name)
            raise Missed, "get found nothing" if found.nil?
            raise WrongValue, "get returned other bytes" unless found.b == bytes
          end
        end
      end

      define "client_get", "the client's get", like: OnClient, body: "store.get(names[i])"

      define "client_set", "the client's set", like: OnClient, body: "store.set(names[i], inputs[i])" do
        def verify(arm)
          pairs(arm).each { |name, bytes| arm.store.set(name, bytes) }
          super
        end
      end

      # A hundred keys in one call.
      define "client_get_multi", "the client's get_multi of #{MANY}", like: OnClient,
                                                                      body: "store.get_multi(inputs)" do
        def unsuitable(value) = ("#{MANY} such values a call are no use case" if value.large?)

        def names_for(value) = [value.count, MANY].max

        def inputs(arm) = arm.names.first(MANY)

        def setup(arm)
          super
          arm.store.prepare_many(arm.inputs, pairs(arm, MANY), :get) if raw?(arm)
        end

        def verify(arm)
          super
          return if raw?(arm)
          found = arm.store.get_multi(arm.inputs)
          raise Missed, "get_multi of #{MANY} found #{found.size}" if found.size < MANY
          raise WrongValue, "get_multi returned other bytes" unless found.transform_values(&:b) == pairs(arm, MANY)
        end
      end

      define "client_set_multi", "the client's set_multi of #{MANY}", like: "client_get_multi",
                                                                      body: "store.set_multi(inputs)" do
        def inputs(arm) = pairs(arm, MANY)

        def setup(arm)
          super
          arm.store.prepare_many(arm.inputs, pairs(arm, MANY), :set) if raw?(arm)
        end

        def verify(arm)
          arm.store.set_multi(arm.inputs)
          expect(arm, pairs(arm))
        end
      end

      # One call with a hundred existing keys; they are written before every slice. Slices have at most as many calls as
      # there are groups of names.
      define "client_delete_multi", "the client's delete_multi of #{MANY}", like: "client_get_multi", prepared?: true,
                                                                            body: "store.delete_multi(inputs[i])" do
        def names_for(_value) = Operation::PREPARED_CALLS

        def inputs(arm)
          Array.new(Operation::PREPARED_CALLS) do |group|
            Array.new(MANY) { |index| "#{arm.names.first}-#{group}-#{index}" }
          end
        end

        def setup(_arm); end

        def before_slice(arm, calls) = arm.inputs.first(calls).each { |names| write(arm, names) }

        def verify(arm)
          names = arm.inputs.first
          write(arm, names)
          expect(arm, group(arm, names))
          answer = arm.store.delete_multi(names)
          raise WrongValue, "delete_multi left names behind" unless gone?(arm, names, answer)
        end

        private

        def group(arm, names)
          names.each_with_index.to_h { |name, index| [name, bytes_of(arm.values[index % arm.values.size])] }
        end

        def write(arm, names)
          pairs = group(arm, names)
          if raw?(arm)
            arm.store.prepare_many(pairs, pairs, :set)
            arm.store.prepare_many(names, pairs, :delete)
          end
          arm.store.set_multi(pairs)
          arm.store.forget(pairs) if raw?(arm)
        end

        # The answers of a raw socket tell whether the keys were deleted.
        def gone?(arm, names, answer)
          return answer.join.match?(/\A(?:(?:DELETED\r\n)+|:#{MANY}\r\n)\z/o) if raw?(arm)
          names.none? { |name| arm.store.get(name) }
        end
      end

      # A call without a request, and the loop around it.
      define "client_loop", "a call that does nothing", like: OnClient, body: "store.none(names[i])", internal?: true do
        def setup(_arm); end
        def verify(_arm); end
      end
    end
  end
end
