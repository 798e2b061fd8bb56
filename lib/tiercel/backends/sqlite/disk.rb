# frozen_string_literal: true

require_relative "../../free_space"

module Tiercel
  module Backends
    class SQLite < Backend
      # The part of its disk that a cache may use: the size of its files and the free space, minus a reserve. On a
      # disk smaller than `size`, the cache therefore evicts entries before the disk is full.
      class Disk
        COMPANIONS = ["", "-wal", "-shm"].freeze
        # Reserve for other programs, and for a log that is longer than usual.
        RESERVED_SHARE = 0.25
        MOST_RESERVED_BYTES = 64 * 1024**2
        # Up to this disk size, the reserve is a fraction of the disk.
        SMALL_BYTES = (MOST_RESERVED_BYTES / RESERVED_SHARE).to_i

        # @param path [String] the path of the database
        def initialize(path)
          @paths = COMPANIONS.map { |companion| "#{path}#{companion}" }
        end

        # @return [Integer, nil] bytes; nil if the free space is unknown
        def room_bytes
          free = free_bytes or return
          all = free + own_bytes
          (all - [all * RESERVED_SHARE, MOST_RESERVED_BYTES].min).to_i
        end

        # @return [Integer] size of the cache's files
        def own_bytes = @paths.sum { |path| ::File.size?(path) || 0 }

        # @param bytes [Integer] size of the next write
        # @return [Boolean] whether the disk may be too full for them in the log
        def short_of?(bytes) = (free = free_bytes).nil? || free < (bytes * 2) + Settings::ROUND_BYTES

        private

        def free_bytes = FreeSpace.beside(@paths.first)
      end
    end
  end
end
