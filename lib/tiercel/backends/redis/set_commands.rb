# frozen_string_literal: true

require_relative "../../backend"

module Tiercel
  module Backends
    class Redis < Backend
      # One SET for each of many keys, for a driver that turns each command into
      # bytes before it asks for the next: all are the same Array, and all have
      # the same String of a TTL. A Hash has each key once, so one random mark
      # (see {Lifetime}) tells this writing of a key from every other.
      class SetCommands
        # @return [Integer]
        attr_reader :size

        # @param pairs [Hash{String => String}]
        # @param ms [String] TTL
        def initialize(pairs, ms)
          @pairs = pairs
          @ms = ms
          @size = pairs.size
        end

        # @yieldparam command [Array<String>] to be used before the next comes
        # @return [void]
        def each
          command = ["SET", nil, nil, "PX", @ms]
          @pairs.each do |key, bytes|
            command[1] = key
            command[2] = bytes
            yield command
          end
        end

        # @param index [Integer]
        # @return [Array<String>] for the message of an error
        def [](index) = (@all ||= to_a)[index]

        # @return [Array<Array<String>>] commands that may be kept
        def to_a = @pairs.map { |key, bytes| ["SET", key, bytes, "PX", @ms] }
      end
    end
  end
end
