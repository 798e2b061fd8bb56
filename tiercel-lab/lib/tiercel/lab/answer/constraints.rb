# frozen_string_literal: true

require "tiercel/sizes"
require_relative "../errors"

module Tiercel
  module Lab
    module Answer
      # The demands of an application on its cache.
      #
      # @!attribute [r] machines
      #   @return [Integer] number of machines that share the cache
      # @!attribute [r] workers
      #   @return [Integer] number of processes on each machine
      # @!attribute [r] memory_bytes
      #   @return [Integer] memory that the cache may use on each machine
      # @!attribute [r] survives
      #   @return [String] one of {SURVIVES}: the event that entries must survive
      # @!attribute [r] given
      #   @return [Array<String>] names of the constraints that the user gave; the machine suggests the others
      Constraints = Data.define(:machines, :workers, :memory_bytes, :survives, :given) do
        def initialize(machines: 1, workers: 1, memory_bytes: 256 * 1024 * 1024, survives: "nothing", given: []) = super

        # @return [Hash{String => Object}] the form of the results file
        def record = to_h.transform_keys(&:to_s)
      end

      class Constraints
        # In increasing order: a restart of the application (a deploy), a reboot of the machine.
        SURVIVES = %w[nothing restart reboot].freeze
        MEGABYTE = 1024 * 1024
        # The suggested memory: an eighth of the machine's memory, at most Tiercel's default size.
        MEMORY_SHARE = 8
        MOST_MEGABYTES = 256
        # The numbers that an application may have.
        COUNTS = { machines: 1..10_000, workers: 1..1_000 }.freeze
        # No cache has less, and no machine has more.
        MEMORY = ((64 * 1024)..(64 * (1024**4)))

        # @param record [Hash{String => Object}] a record from {#record}
        def self.from(record) = new(**record.transform_keys(&:to_sym))

        # Suggests constraints: one machine, one worker for each core.
        #
        # @param environment [Hash] see {Engine::Machine.describe}
        # @param given [Hash{Symbol => Object}] the user's constraints
        # @return [Constraints]
        def self.suggested(environment, **given)
          megabytes = [environment["memory_mb"].to_i / MEMORY_SHARE, MOST_MEGABYTES].min
          megabytes = MOST_MEGABYTES unless megabytes.positive?
          new(workers: environment["cores"], memory_bytes: megabytes * MEGABYTE, **given, given: given.keys.map(&:to_s))
        end

        # @param text [String] "512MB", "2GB"
        # @return [Integer] bytes
        # @raise [UsageError]
        def self.bytes(text)
          bytes = Sizes.parse(text)
          return bytes if MEMORY.cover?(bytes)
          raise UsageError, "--memory #{text}: expected a size from 64KB to 64TB, such as 512MB or 2GB"
        end

        # @param name [Symbol] one of {COUNTS}
        # @return [Integer]
        # @raise [UsageError]
        def self.count(name, number)
          known = COUNTS.fetch(name)
          return number if known.cover?(number)
          raise UsageError, "--#{name} #{number}: expected a number from #{known.begin} to #{known.end}"
        end

        # @return [Array<String>] command line options for the user's constraints
        def options = given.flat_map { |name| option(name) }

        # @param name [String]
        # @return [Array<String>] the option and its value
        def option(name)
          name == "memory_bytes" ? ["--memory", memory] : ["--#{name}", public_send(name).to_s]
        end

        private

        def memory = (memory_bytes % MEGABYTE).zero? ? "#{memory_bytes / MEGABYTE}MB" : "#{memory_bytes}B"
      end
    end
  end
end
