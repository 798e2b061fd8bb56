# frozen_string_literal: true

require_relative "../../file_lock"

module Tiercel
  module Backends
    class File < Backend
      # A file with the lock and the ledger of some folders.
      #
      # The ledger has 16 bytes per folder (bytes on disk, entries; signed 64-bit, little-endian). A writer changes
      # the folder first, then the ledger, both under the lock. A writer killed in between leaves an error of one
      # entry, which the next sweep of the folder corrects.
      class Stripe
        FORMAT = "q<2"
        RECORD_BYTES = 16
        FOLDERS = Layout::FOLDERS / Layout::STRIPES
        # No folder reaches this size. A record above it is damaged and counts as empty until it is corrected.
        LARGEST = 2**48

        # @param path [String]
        # @param budget_seconds [Float]
        def initialize(path, budget_seconds)
          @lock = FileLock.new(path, budget_seconds)
        end

        # Runs the block exclusively among all threads and processes.
        #
        # @yieldparam stripe [Stripe]
        # @return [Object] the block's value
        # @raise [FileLock::Busy]
        # @raise [SystemCallError]
        def hold = @lock.hold { yield self }

        # Adds a change to the ledger; requires the lock.
        #
        # @param folder [Integer]
        # @param bytes [Integer] added bytes on disk, may be negative
        # @param entries [Integer] may be negative
        def add(folder, bytes, entries)
          return if bytes.zero? && entries.zero?
          old_bytes, old_entries = record(folder)
          put(folder, old_bytes + bytes, old_entries + entries)
        end

        # Corrects a record; requires the lock.
        def correct(folder, bytes, entries)
          put(folder, bytes, entries) unless record(folder) == [bytes, entries]
        end

        # Replaces a record; requires the lock.
        def put(folder, bytes, entries)
          @lock.file.pwrite([[bytes, 0].max, [entries, 0].max].pack(FORMAT), offset(folder))
        end

        # Reads without the lock, so a total may miss the latest write.
        #
        # @return [Array(Integer, Integer)] bytes on disk and entries
        def totals
          bytes = @lock.file.pread(FOLDERS * RECORD_BYTES, 0)
          records = bytes.unpack("q<*").each_slice(2).map { |record| plausible(record) }
          [records.sum(&:first), records.sum(&:last)]
        rescue IOError # the file is empty, or the holder of the lock is replacing it
          [0, 0]
        end

        # @return [void]
        def close = @lock.close

        private

        def record(folder)
          plausible(@lock.file.pread(RECORD_BYTES, offset(folder)).ljust(RECORD_BYTES, "\0").unpack(FORMAT))
        rescue EOFError
          [0, 0]
        end

        def plausible(record)
          record.size == 2 && record.all? { |number| number.between?(0, LARGEST) } ? record : [0, 0]
        end

        def offset(folder) = (folder / Layout::STRIPES) * RECORD_BYTES
      end
    end
  end
end
