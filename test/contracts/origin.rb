# frozen_string_literal: true

require "tempfile"

module Tiercel
  module Contracts
    # The source of truth for values that many processes read and invalidate: a file of counts. A writer increments a
    # count and invalidates its key while it holds the lock. A reader reads the count first and must not get an older
    # value.
    #
    # @private
    module Origin
      ORIGIN_KEYS = 3

      private

      # @yieldparam path [String] the path of the file
      def with_origin
        origin = Tempfile.new("tiercel-origin")
        origin.write("\0" * 8 * ORIGIN_KEYS)
        origin.flush
        yield origin.path
      ensure
        origin&.close!
      end

      # @return [Integer] the count, read under a shared lock
      def least_count(path, key) = with_counts(path, File::LOCK_SH) { |file| count_at(file, key) }

      # @return [Integer] the count, read without a lock, as a computation would read it
      def made_count(path, key) = File.open(path) { |file| count_at(file, key) }.tap { sleep rand * 0.01 }

      # @yieldparam count [Integer] the new count, under an exclusive lock
      def raise_count(path, key)
        with_counts(path, File::LOCK_EX) do |file|
          count = count_at(file, key) + 1
          file.pwrite([count].pack("Q"), key * 8)
          yield count
        end
        sleep rand * 0.005
      end

      def with_counts(path, lock)
        File.open(path, "r+b") { |file| file.flock(lock) && yield(file) }
      end

      def count_at(file, key) = file.pread(8, key * 8).unpack1("Q")
    end
  end
end
