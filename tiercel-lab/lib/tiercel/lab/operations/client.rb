# frozen_string_literal: true

require_relative "../protocol"
require_relative "read_multi"

module Tiercel
  module Lab
    module Operations
      # What the operations on clients have in common: bytes under keys. Values that are not Strings are marshalled.
      class OnClient < Operation
        def kind = :client

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

        # Sockets are told beforehand what they will be asked.
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

      # One key.
      class ClientGet < OnClient
        called "client_get", "the client's get"

        def body = "store.get(names[i])"
      end

      # One key.
      class ClientSet < OnClient
        called "client_set", "the client's set"

        def body = "store.set(names[i], inputs[i])"

        def verify(arm)
          pairs(arm).each { |name, bytes| arm.store.set(name, bytes) }
          super
        end
      end

      # A hundred keys in one call.
      class ClientGetMulti < OnClient
        SIZE = Multi::SIZE
        called "client_get_multi", "the client's get_multi of 100"

        def body = "store.get_multi(inputs)"

        def unsuitable(value) = ("#{SIZE} such values a call are no use case" if value.large?)

        def names_for(value) = [value.count, SIZE].max

        def inputs(arm) = arm.names.first(SIZE)

        def setup(arm)
          super
          arm.store.prepare_many(arm.inputs, pairs(arm, SIZE), :get) if raw?(arm)
        end

        def verify(arm)
          super
          return if raw?(arm)
          found = arm.store.get_multi(arm.inputs)
          raise Missed, "get_multi of #{SIZE} found #{found.size}" if found.size < SIZE
          raise WrongValue, "get_multi returned other bytes" unless found.transform_values(&:b) == pairs(arm, SIZE)
        end
      end

      # A hundred keys in one call.
      class ClientSetMulti < ClientGetMulti
        called "client_set_multi", "the client's set_multi of 100"

        def body = "store.set_multi(inputs)"

        def inputs(arm) = pairs(arm, SIZE)

        def setup(arm)
          super
          arm.store.prepare_many(arm.inputs, pairs(arm, SIZE), :set) if raw?(arm)
        end

        def verify(arm)
          arm.store.set_multi(arm.inputs)
          expect(arm, pairs(arm))
        end
      end

      # A hundred keys that are there in one call; they are written before every slice.
      class ClientDeleteMulti < ClientGetMulti
        # Sets of so many groups at most; slices have fewer calls.
        GROUPS = Protocol::PREPARED_CALLS
        called "client_delete_multi", "the client's delete_multi of 100"

        def body = "store.delete_multi(inputs[i])"

        def names_for(_value) = GROUPS

        def prepared? = true

        # Groups of names of their own.
        def inputs(arm)
          Array.new(GROUPS) { |group| Array.new(SIZE) { |index| "#{arm.names.first}-#{group}-#{index}" } }
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

        # A socket's answers say it.
        def gone?(arm, names, answer)
          return answer.join.match?(/\A(?:(?:DELETED\r\n)+|:#{SIZE}\r\n)\z/o) if raw?(arm)
          names.none? { |name| arm.store.get(name) }
        end
      end

      # A call that does nothing, and the loop around it.
      class ClientLoop < OnClient
        called "client_loop", "a call that does nothing"

        def body = "store.none(names[i])"

        def setup(_arm); end

        def verify(_arm); end
      end
    end
  end
end
