# frozen_string_literal: true

module Tiercel
  module Backends
    class Memcached < Backend
      # Operations on many keys: one {Remote::Exchange} with all servers of the ring. If some servers fail, the error
      # carries the other servers' results (see {BackendError#partial}). Each object serves one operation.
      class Multi
        # @param ring [Ring]
        # @param timeout [Float] seconds for the whole operation
        def initialize(ring, timeout)
          @ring = ring
          @timeout = timeout
        end

        # @param keys [Array<String>]
        # @return [Hash{String => String}] the entries that exist, in the order of `keys`
        # @raise [BackendError] with the entries of the other servers
        def get(keys)
          wire_keys = keys.map { |key| WireKey.encode(key) }
          count = keys.size
          replies = Array.new(count * 2) # lines, which are kept, then values
          Thread.current[Protocol::LAST_READ] = replies
          failure = exchange(
            wire_keys,
            ->(at, *call) { Protocol.write_get_multi(call[0], pick(wire_keys, at), call[1]) },
            lambda do |at, *call|
              Protocol.read_get_multi(*call) do |index, bytes, line|
                position = position(at, index)
                replies[position] = line
                replies[count + position] = bytes
              end
            end
          )
          found = {}
          keys.each_with_index { |key, index| (bytes = replies[count + index]) && found[key] = bytes }
          replies.fill(nil, count)
          failure ? fail_with(failure, found) : found
        end

        # @param pairs [Hash{String => String}]
        # @param ttl [Integer] in memcached's form
        # @return [Boolean] whether all were stored
        # @raise [BackendError] with false, if other servers stored their pairs
        def set(pairs, ttl)
          wire_keys = pairs.keys.map { |key| WireKey.encode(key) }
          wire_pairs = wire_keys.zip(pairs.values)
          answers = Array.new(pairs.size)
          failure = exchange(
            wire_keys,
            ->(at, *call) { Protocol.write_set_multi(call[0], pick(wire_pairs, at), ttl, call[1]) },
            lambda do |at, *call|
              at.zip(Protocol.read_set_multi(call[0], at.size, call[1])) { |index, answer| answers[index] = answer }
            end
          )
          fail_with(failure, false) if failure
          refuse_too_large(wire_keys, pairs.keys, answers) if answers.include?(:too_large)
          answers.all?(:stored)
        end

        # @param pairs [Hash{String => String}]
        # @param ttl [Integer] in memcached's form
        # @param tokens [Hash{String => Token}] by key
        # @return [Hash{String => Array(String, String)}] the entries that exist afterwards: bytes, and the response
        #   line before them
        # @raise [BackendError] with the results of the other servers
        def claim(pairs, ttl, tokens)
          keys = pairs.keys
          wire_keys = keys.map { |key| WireKey.encode(key) }
          wire_pairs = wire_keys.zip(pairs.values, keys.map { |key| tokens[key] })
          found = {}
          failure = exchange(
            wire_keys,
            ->(at, *call) { Protocol.write_claim_multi(call[0], pick(wire_pairs, at), ttl, call[1]) },
            lambda do |at, *call|
              Protocol.read_claim_multi(call[0], at.size, call[1]) do |index, bytes, line|
                position = position(at, index)
                found[keys[position]] = [bytes, line]
              end
            end
          )
          failure ? fail_with(failure, found) : found
        end

        # @param changes [Hash{String => Array(String, Token)}]
        # @param ttl [Integer] in memcached's form
        # @return [Array<String>] keys that were written
        # @raise [BackendError] with the keys written on the other servers
        def compare_and_set(changes, ttl)
          keys = changes.keys
          wire_keys = keys.map { |key| WireKey.encode(key) }
          wire_changes = wire_keys.zip(changes.values).map(&:flatten)
          written = []
          failure = exchange(
            wire_keys,
            ->(at, *call) { Protocol.write_cas_multi(call[0], pick(wire_changes, at), ttl, call[1]) },
            lambda do |at, *call|
              answers = Protocol.read_set_multi(call[0], at.size, call[1])
              at.zip(answers) { |index, answer| written << keys[index] if answer == :stored }
            end
          )
          failure ? fail_with(failure, written) : written
        end

        # @param keys [Array<String>]
        # @param encoded [Boolean] whether the keys are already wire keys
        # @return [Integer] how many of them existed
        # @raise [BackendError] with the number deleted on the other servers
        def delete(keys, encoded: false)
          wire_keys = encoded ? keys : keys.map { |key| WireKey.encode(key) }
          count = 0
          failure = exchange(
            wire_keys,
            ->(at, *call) { Protocol.write_delete_multi(call[0], pick(wire_keys, at), call[1]) },
            ->(at, *call) { count += Protocol.read_delete_multi(call[0], at.size, call[1]) }
          )
          failure ? fail_with(failure, count) : count
        end

        private

        def refuse_too_large(wire_keys, keys, answers)
          at = answers.each_index.select { |index| answers[index] == :too_large }
          delete(pick(wire_keys, at), encoded: true)
          raise Refused.new("#{at.size} of #{keys.size} values are larger than the server takes (its option -I); " \
                            "they are not stored",
                            backend: @ring.node_for(wire_keys[at.first]).name, key: keys[at.first])
        end

        def position(at, index)
          (at[index] unless index.negative?) or raise Connection::Garbage, "a response without a request"
        end

        def pick(items, at) = at.size == items.size ? items : at.map { |index| items[index] }

        # If no server answered, the backend as a whole failed and there is no partial result.
        def fail_with(failure, partial)
          raise @all_failed ? failure : failure.with_partial(partial)
        end

        # @param write [#call] receives positions of keys, connection and deadline; sends one server's request
        # @param read [#call] receives the same; reads its responses
        # @return [BackendError, nil] the first failure
        def exchange(wire_keys, write, read)
          groups = @ring.group(wire_keys)
          failures = Remote::Exchange.new(Clock.monotonic + @timeout, write, read).run(groups)
          @all_failed = failures.size == groups.size
          failures.each_value.find { |error| !error.is_a?(BreakerOpen) } || failures.each_value.first
        end
      end
    end
  end
end
