# frozen_string_literal: true

module Tiercel::Lab
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

      # Dumps every value before the timing starts, because some libraries crash the worker with some values.
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

    # Compresses a payload.
    define "deflate", "compressing", kind: :compressor, body: "store.deflate(inputs[i])", internal?: true do
      def setup(_arm); end

      # Every name has a payload of its own.
      def inputs(arm) = payloads(arm).map(&:freeze)

      def written(_arm) = []

      def verify(arm)
        payloads(arm).each { |payload| expect(payload, arm.store.inflate(arm.store.deflate(payload))) }
      end

      private

      def payloads(arm) = arm.each_pair.map { |_name, value| arm.contestant.payload(value) }

      def expect(payload, found)
        return if found.is_a?(String) && found.b == payload
        raise WrongValue, "inflating gave other bytes than were deflated (#{found.class})"
      end
    end

    # Decompresses a payload.
    define "inflate", "decompressing", like: "deflate", body: "store.inflate(inputs[i])" do
      def inputs(arm) = payloads(arm).map { |payload| arm.store.deflate(payload).freeze }

      def verify(arm)
        payloads(arm).zip(arm.inputs) { |payload, deflated| expect(payload, arm.store.inflate(deflated)) }
      end
    end

    # Number of values that each process compares before and after the timing. Comparing all hundred values of a cell
    # would take longer than timing them.
    COMPARED = 25

    # A hit through serializer, compressor and store. A store does not fail for a type that its serializer loses.
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

    # A call without a request, and the loop around it.
    define "client_loop", "a call that does nothing", like: OnClient, body: "store.none(names[i])", internal?: true do
      def setup(_arm); end
      def verify(_arm); end
    end

    # Calls a benchmark's block once.
    define "benchmark", "a call", kind: :benchmark, internal?: true,
                                             preamble: "block, subject = store.block, store.subject",
                                             body: "block.call(subject)" do
      def setup(_arm) = nil

      def verify(arm) = arm.store.verify
    end
  end
end
