# frozen_string_literal: true

require_relative "../comparison"

module Tiercel
  module Lab
    # The fifth article's question: caches on SQLite against each other.
    module Sqlite
      # What is measured of caches on SQLite.
      #
      # @!attribute [r] values
      #   @return [Array<String>] names of the values that one process writes and reads
      # @!attribute [r] stores
      #   @return [Array<String>] texts of the contestants in one process
      # @!attribute [r] shared_values
      #   @return [Array<String>] names of the values that two processes write and read
      # @!attribute [r] shared_stores
      #   @return [Array<String>] texts of the contestants in two processes
      # @!attribute [r] processes
      #   @return [Integer] fresh pairs of processes
      # @!attribute [r] rounds
      #   @return [Integer] times that each pair works
      # @!attribute [r] seconds
      #   @return [Float] for which it works
      Design = Data.define(:values, :stores, :shared_values, :shared_stores, :processes, :rounds, :seconds) do
        # @return [Array<Contestant>] of two processes
        def shared_contestants = shared_stores.map { |text| Contestants.parse(text) }

        # @return [Float] of the part with two processes, roughly
        def expected_seconds
          cells = shared_stores.size * shared_values.size
          turns = Design::OPERATIONS.size * rounds
          processes * cells * (Design::OPEN_SECONDS + (turns * (seconds + Design::START_SECONDS)))
        end
      end

      class Design
        OPERATIONS = %w[write read].freeze
        # To start two processes and to build a store in each.
        OPEN_SECONDS = 3.0
        # From the command to work until both have heard it.
        START_SECONDS = 0.05

        BASELINE = "litecache"
        # As they ship, and with equal pragmas; the last two are no SQLite and stand for reference.
        STORES = %w[litecache litecache:equal solid_cache_store solid_cache_store:postgresql tiercel:sqlite:
                    tiercel:sqlite:#synchronous=:off redis_cache_store mem_cache_store].freeze

        # What holds for the connections of each, as far as it is set by the store or by Rails' adapter.
        PRAGMAS = {
          "litecache" => "as shipped: WAL, synchronous 0, mmap 128 MB",
          "litecache:equal" => "equal: WAL, synchronous 1, mmap 128 MB",
          "solid_cache_store" => "equal (as published, and Rails 8's own): WAL, synchronous 1, mmap 128 MB",
          "tiercel:sqlite:" => "equal (as shipped): WAL, synchronous 1, mmap 128 MB",
          "tiercel:sqlite:#synchronous=:off" => "as Litecache ships: WAL, synchronous 0, mmap 128 MB"
        }.freeze

        # The fifth article's sizes, a process of its own and two at once.
        FULL = new(values: %w[string-10b string-100b string-1000b string-10000b], stores: STORES,
                   shared_values: %w[string-100b string-10000b], shared_stores: STORES, processes: 3, rounds: 3,
                   seconds: 0.3)
        # Two sizes, and two processes with one of them.
        QUICK = FULL.with(values: %w[string-100b string-10000b], stores: STORES - %w[tiercel:sqlite:#synchronous=:off],
                          shared_values: %w[string-10000b], processes: 2, rounds: 3, seconds: 0.25,
                          shared_stores: %w[litecache litecache:equal solid_cache_store tiercel:sqlite:
                                            redis_cache_store])
      end
    end
  end
end
