# frozen_string_literal: true

require_relative "../../backend"

module Tiercel
  module Backends
    class Redis < Backend
      # One SET command for each of many keys, for a driver that encodes each command before it takes the next one. All
      # commands are the same Array with the same TTL String. The keys of a Hash are distinct, so one random mark (see
      # {Claims}) distinguishes this write of each key from every other.
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

        # @yieldparam command [Array<String>] valid only until the next one is yielded
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
        # @return [Array<String>] the command, for an error message
        def [](index) = (@all ||= to_a)[index]

        # @return [Array<Array<String>>] independent commands
        def to_a = @pairs.map { |key, bytes| ["SET", key, bytes, "PX", @ms] }
      end
    end
  end
end
