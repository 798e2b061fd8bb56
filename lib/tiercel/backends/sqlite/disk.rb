# frozen_string_literal: true

require_relative "../../free_space"

module Tiercel
  module Backends
    class SQLite < Backend
      # How much of its disk a cache may take: what its files have already and what is free, less a reserve. On a disk
      # smaller than `size` the cache so evicts its own entries before the disk is full.
      class Disk
        COMPANIONS = ["", "-wal", "-shm"].freeze
        # Other programs, and a log that is longer than usual, need room too.
        RESERVED_SHARE = 0.25
        MOST_RESERVED_BYTES = 64 * 1024**2
        # Of a disk where the share is the reserve.
        SMALL_BYTES = (MOST_RESERVED_BYTES / RESERVED_SHARE).to_i

        # @param path [String] of the database
        def initialize(path)
          @paths = COMPANIONS.map { |companion| "#{path}#{companion}" }
        end

        # @return [Integer, nil] bytes; nil where nobody can say
        def room_bytes
          free = free_bytes or return
          all = free + own_bytes
          (all - [all * RESERVED_SHARE, MOST_RESERVED_BYTES].min).to_i
        end

        # @return [Integer] of the cache's files
        def own_bytes = @paths.sum { |path| ::File.size?(path) || 0 }

        # @param bytes [Integer] that are to be written
        # @return [Boolean] whether the disk may be too full for them in the log
        def short_of?(bytes) = (free = free_bytes).nil? || free < (bytes * 2) + Settings::ROUND_BYTES

        private

        def free_bytes = FreeSpace.beside(@paths.first)
      end
    end
  end
end
