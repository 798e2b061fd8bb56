# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../sizes"
require_relative "../disk_options"

module Tiercel
  module Backends
    class SQLite < Backend
      # The validated options of the backend, and values derived from them.
      class Settings
        DEFAULT_SIZE = "1GB"
        DEFAULT_TIMEOUT_SECONDS = 0.25
        SMALLEST_SIZE_BYTES = 4 * 1024**2
        # The minimum size, even on a full disk: evicting entries from a smaller file would free too little space.
        LEAST_ROOM_BYTES = 1024**2

        SYNCHRONOUS = { off: 0, normal: 1, full: 2 }.freeze

        # A value above this fraction of `size` is refused. One transaction in the write-ahead log may exceed `size`
        # briefly, by at most 5 %.
        LARGEST_VALUE_SHARE = 20

        # The write-ahead log counts towards the limit. A long log makes checkpoints rare (each waits for the disk
        # twice), but every read searches its index.
        WAL_SHARE = 16
        WAL_BYTES = (128 * 1024..16 * 1024**2)
        # Size of the log's index file; and the bytes that one round of housekeeping may add to the log.
        SHM_BYTES = 32 * 1024
        ROUND_BYTES = 192 * 1024
        # A new row changes up to four pages of the usual size, and each goes into the log.
        BYTES_OF_A_ROW = 8 * 1024
        MOST_ROWS = 500

        # @return [Integer, nil]
        attr_reader :max_entries
        # @return [Float] time budget of a call in seconds
        attr_reader :timeout_seconds
        # @return [Integer] the value of SQLite's pragma
        attr_reader :synchronous
        # @return [Integer]
        attr_reader :mmap_size_bytes
        # @return [Integer] page size of a new file
        attr_reader :page_size_bytes

        # @param size [Integer, String] bytes on disk
        # @param max_entries [Integer, nil]
        # @param timeout [Numeric] seconds
        # @param synchronous [Symbol, String, Integer] :off, :normal or :full
        # @param mmap_size [Integer, String] bytes of the file to map into memory; 0 for none
        # @param page_size [Integer, String] a power of two from 512 to 65,536
        # @raise [ConfigurationError] with the option, its value and the expected one
        def initialize(size: DEFAULT_SIZE, max_entries: nil, timeout: DEFAULT_TIMEOUT_SECONDS, synchronous: :normal,
                       mmap_size: "128MB", page_size: 2048)
          @asked_bytes = @size_bytes = at_least_smallest(Sizes.bytes(number(size)))
          @max_entries = DiskOptions.count(max_entries, :max_entries)
          @timeout_seconds = DiskOptions.seconds(timeout, :timeout)
          @synchronous = synchronous_level(synchronous)
          @mmap_size_bytes = zero?(mmap_size) ? 0 : Sizes.bytes(number(mmap_size), option: :mmap_size)
          @page_size_bytes = power_of_two(Sizes.bytes(number(page_size), option: :page_size))
        end

        # @return [Integer] bytes on disk, including the write-ahead log: `size`, or less if the disk is too full
        attr_reader :size_bytes

        # @param bytes [Integer, nil] space on the disk; nil if it is unknown
        def room_bytes=(bytes)
          @size_bytes = bytes ? [@asked_bytes, [bytes, LEAST_ROOM_BYTES].max].min : @asked_bytes
        end

        # @return [Boolean] whether the disk has less space than `size`
        def short_of_disk? = size_bytes < @asked_bytes

        # @return [Integer] size of the largest accepted value, in bytes
        def largest_value_bytes = size_bytes / LARGEST_VALUE_SHARE

        # @return [Integer] size at which the write-ahead log is written back
        def wal_bytes = (size_bytes / WAL_SHARE).clamp(WAL_BYTES)

        # @return [Integer] maximum number of rows in one transaction
        def rows_at_once = [wal_bytes / BYTES_OF_A_ROW, MOST_ROWS].min

        # Divides many pairs into batches for one transaction each.
        #
        # @param pairs [Array<Array(String, String)>] keys and bytes
        # @return [Enumerator<Array<Array(String, String)>>] a pair larger than a batch gets its own batch
        def batches(pairs)
          rows = bytes = 0
          pairs.slice_before do |key, value|
            rows += 1
            bytes += bytesize = key.bytesize + value.bytesize
            next false if rows <= rows_at_once && bytes <= largest_value_bytes
            rows = 1
            bytes = bytesize
            true
          end
        end

        # @param page_size_bytes [Integer] the file's page size; the file may be older than the option
        # @return [Integer] maximum number of pages of the database itself
        def page_limit(page_size_bytes) = (size_bytes - wal_bytes - SHM_BYTES - ROUND_BYTES) / page_size_bytes

        private

        def number(value) = value.is_a?(String) && value.match?(/\A\d+\z/) ? value.to_i : value

        def zero?(value) = value.to_s == "0"

        def at_least_smallest(bytes)
          return bytes if bytes >= SMALLEST_SIZE_BYTES
          raise ConfigurationError, "size: expected at least #{Sizes.human(SMALLEST_SIZE_BYTES)} for a SQLite file, " \
                                    "got #{Sizes.human(bytes)}"
        end

        def synchronous_level(value)
          level = SYNCHRONOUS[value.to_s.to_sym] || Integer(value, exception: false)
          return level if SYNCHRONOUS.value?(level)
          raise ConfigurationError, "synchronous: expected :off, :normal or :full, got #{Redacted.text(value)}"
        end

        def power_of_two(bytes)
          return bytes if bytes.between?(512, 65_536) && bytes.nobits?(bytes - 1)
          raise ConfigurationError, "page_size: expected a power of two from 512 to 65536, got #{bytes}"
        end
      end
    end
  end
end
