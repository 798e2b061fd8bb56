# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    module Answer
      # The constraints of an application on its cache.
      #
      # @!attribute [r] machines
      #   @return [Integer] that have to see one cache
      # @!attribute [r] workers
      #   @return [Integer] processes of each machine
      # @!attribute [r] memory_bytes
      #   @return [Integer] that the cache may take of each machine
      # @!attribute [r] survives
      #   @return [String] one of {SURVIVES}: what the entries outlive
      # @!attribute [r] given
      #   @return [Array<String>] names of those that the user said; the others are suggested by the machine
      Constraints = Data.define(:machines, :workers, :memory_bytes, :survives, :given) do
        def initialize(machines: 1, workers: 1, memory_bytes: 256 * 1024 * 1024, survives: "nothing", given: []) = super

        # @return [Hash{String => Object}] for the results
        def record = to_h.transform_keys(&:to_s)
      end

      class Constraints
        # Each outlives what those before it do: a restart of the application (a deploy), of the machine.
        SURVIVES = %w[nothing restart reboot].freeze
        MEGABYTE = 1024 * 1024
        # Of the machine's memory, and at most: what Tiercel's own default takes.
        MEMORY_SHARE = 8
        MOST_MEGABYTES = 256
        SIZE = /\A(\d+(?:\.\d+)?)\s*(k|m|g)?b?\z/i
        UNITS = { nil => 1, "k" => 1024, "m" => MEGABYTE, "g" => 1024 * MEGABYTE }.freeze

        # @param record [Hash{String => Object}] of {#record}
        def self.from(record) = new(**record.transform_keys(&:to_sym))

        # The constraints that a machine suggests: one machine, a worker for each core.
        #
        # @param environment [Hash] see {Engine::Machine.describe}
        # @param given [Hash{Symbol => Object}] what the user said
        # @return [Constraints]
        def self.suggested(environment, **given)
          megabytes = [environment["memory_mb"].to_i / MEMORY_SHARE, MOST_MEGABYTES].min
          megabytes = MOST_MEGABYTES unless megabytes.positive?
          new(workers: environment["cores"], memory_bytes: megabytes * MEGABYTE, **given, given: given.keys.map(&:to_s))
        end

        # @param text [String] "512MB", "2GB"
        # @return [Integer] bytes
        def self.bytes(text)
          match = SIZE.match(text)
          bytes = match && (match[1].to_f * UNITS.fetch(match[2]&.downcase)).round
          return bytes if bytes&.positive?
          raise UsageError, "--memory #{text}: expected a size such as 512MB or 2GB"
        end

        # @return [Array<String>] command line options that say what the user said
        def options = given.flat_map { |name| option(name) }

        # @param name [String]
        # @return [Array<String>] the option that says it
        def option(name)
          name == "memory_bytes" ? ["--memory", "#{memory_bytes / MEGABYTE}MB"] : ["--#{name}", public_send(name).to_s]
        end
      end
    end
  end
end
