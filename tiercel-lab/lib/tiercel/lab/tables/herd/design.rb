# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Herd
        # The measured stores, the number of concurrent callers, and the duration of the block.
        #
        # @!attribute [r] stores
        #   @return [Array<String>] texts of contestants
        # @!attribute [r] threads
        #   @return [Integer] number of threads in each process
        # @!attribute [r] processes
        #   @return [Integer]
        # @!attribute [r] block_ms
        #   @return [Float] duration of the block
        # @!attribute [r] rounds
        #   @return [Integer] number of rounds, each with fresh keys
        Design = Data.define(:stores, :threads, :processes, :block_ms, :rounds)

        class Design
          # The state of the key before the calls, and the options of the calls.
          #
          # @!attribute [r] name
          #   @return [String]
          # @!attribute [r] words
          #   @return [String] the condition, for use in a sentence
          # @!attribute [r] options
          #   @return [Hash{Symbol => Object}] options of the fetch
          # @!attribute [r] expired
          #   @return [Boolean] whether the key has an expired value; otherwise it is cold
          Condition = Data.define(:name, :words, :options, :expired)

          # Seconds for which an expired value may be returned.
          WINDOW_SECONDS = 60
          WITHOUT = "without a lease"
          RAILS = [
            Condition.new("cold", WITHOUT, {}, false),
            Condition.new("ended, race_condition_ttl", "with `race_condition_ttl` over a value that has ended",
                          { race_condition_ttl: WINDOW_SECONDS }, true)
          ].freeze
          OURS = [
            Condition.new("cold, lease: false", WITHOUT, { lease: false }, false),
            Condition.new("cold, lease: true", "with `lease: true`", { lease: true }, false),
            Condition.new("ended, stale_while_revalidate", "with `stale_while_revalidate` over a value that has ended",
                          { lease: true, stale_while_revalidate: WINDOW_SECONDS }, true)
          ].freeze

          FULL = new(stores: %w[memory_store file_store:tmpfs mem_cache_store redis_cache_store tiercel:shared:
                                tiercel:memory: tiercel:sqlite: tiercel:file: tiercel:memcached: tiercel:redis:],
                     threads: 10, processes: 4, block_ms: 200.0, rounds: 5)
          QUICK = FULL.with(stores: %w[memory_store mem_cache_store redis_cache_store tiercel:shared:
                                       tiercel:memcached: tiercel:redis:],
                            threads: 5, processes: 2, block_ms: 100.0, rounds: 2)

          # Seconds from the command to the moment of the calls. An expired value is written before.
          LEAD_SECONDS = 0.25
          # The TTL of a value that expires before the calls.
          ENDS_SECONDS = 0.1
          PROCESS_SECONDS = 0.4

          # @param contestant [Contestant]
          # @return [Array<Condition>]
          def self.conditions(contestant) = contestant.is_a?(Contestants::TiercelStore) ? OURS : RAILS

          # @return [Array<Contestant>]
          def contestants = stores.map { |text| Contestants.parse(text) }

          # @return [Integer]
          def callers = threads * processes

          # @param contestant [Contestant]
          # @return [Float] an estimate that includes a rehearsal of each condition
          def seconds(contestant)
            herds = self.class.conditions(contestant).size
            (processes * PROCESS_SECONDS) + (herds * LEAD_SECONDS) +
              (herds * rounds * (LEAD_SECONDS + (block_ms / 1e3) + 0.05))
          end

          # @return [Float] an estimate
          def expected_seconds = contestants.sum { |contestant| seconds(contestant) }
        end
      end
    end
  end
end
