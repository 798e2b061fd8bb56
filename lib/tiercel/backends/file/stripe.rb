# frozen_string_literal: true

require "fileutils"
require "timeout"

require_relative "../../clock"
require_relative "forks"

module Tiercel
  module Backends
    class File < Backend
      # The lock of some folders, between threads and between processes, and the
      # ledger of what they hold: one file, locked with `flock`, which the kernel
      # lets go when its holder dies.
      #
      # The ledger has 16 bytes a folder (bytes on disk, entries; signed 64-bit,
      # little-endian). It is changed under the lock, after the folder is: who is
      # killed in between leaves an error of one entry, which the next sweep of
      # the folder corrects.
      class Stripe
        FORMAT = "q<2"
        RECORD_BYTES = 16
        FOLDERS = Layout::FOLDERS / Layout::STRIPES
        # No folder holds as much: a record that says more was damaged, and counts as empty until it is corrected.
        LARGEST = 2**48
        # Raised when the lock could not be had in time.
        class Busy < StandardError; end

        # @param path [String]
        # @param budget_seconds [Float]
        def initialize(path, budget_seconds)
          @path = path
          @budget_seconds = budget_seconds
          @mutex = Mutex.new
          @opening = Mutex.new
          Forks.track(self)
        end

        # Runs the block alone among all threads and processes.
        #
        # @return [Object] the block's value
        # @raise [Busy]
        # @raise [SystemCallError]
        def hold
          give_up_at = Clock.monotonic + @budget_seconds
          within(give_up_at) { @mutex.lock } unless @mutex.try_lock
          lock_file(give_up_at)
          yield self
        ensure
          release
        end

        # Notes a change; the caller holds the lock.
        #
        # @param folder [Integer]
        # @param bytes [Integer] on disk, may be negative
        # @param entries [Integer] may be negative
        def add(folder, bytes, entries)
          return if bytes.zero? && entries.zero?
          old_bytes, old_entries = record(folder)
          put(folder, old_bytes + bytes, old_entries + entries)
        end

        # Corrects a record that is wrong; the caller holds the lock.
        def correct(folder, bytes, entries)
          put(folder, bytes, entries) unless record(folder) == [bytes, entries]
        end

        # Replaces a record; the caller holds the lock.
        def put(folder, bytes, entries)
          @file.pwrite([[bytes, 0].max, [entries, 0].max].pack(FORMAT), offset(folder))
        end

        # Without the lock: a total may be one write old.
        #
        # @return [Array(Integer, Integer)] bytes on disk and entries
        def totals
          file = current
          records = file.pread(FOLDERS * RECORD_BYTES, 0).unpack("q<*").each_slice(2).map { |record| plausible(record) }
          [records.sum(&:first), records.sum(&:last)]
        rescue IOError # empty, or replaced by the holder of the lock at this moment
          [0, 0]
        end

        # @return [void]
        def close
          @mutex.synchronize { drop }
        end

        # Closes in a child what is its parent's.
        #
        # @private
        def close_inherited
          drop unless @pid == Process.pid
        end

        private

        # flock belongs to the open file, which a child has in common with its parent: a child opens its own.
        # One thread opens it: a lock taken on one open file is not let go through another.
        def current
          file = @file
          return file if file && @pid == Process.pid
          @opening.synchronize do
            next @file if @file && @pid == Process.pid
            drop
            @pid = Process.pid
            @file = open
          end
        end

        def open
          ::File.open(@path, ::File::RDWR | ::File::CREAT | ::File::BINARY, 0o600).tap { |file| file.sync = true }
        rescue Errno::ENOENT
          FileUtils.mkdir_p(::File.dirname(@path), mode: 0o700)
          retry
        end

        # Forgotten first: who is killed while it is being closed must not leave a closed file for the next one.
        def drop
          file, @file = @file, nil
          file&.close
        end

        # A lock on a file that was removed or replaced is none.
        def lock_file(give_up_at)
          loop do
            file = current
            return if locked?(file, give_up_at) && ::File.identical?(@path, file)
            drop
            raise Busy if Clock.monotonic >= give_up_at
          end
        end

        # @return [Boolean] false if another machine removed the file of a network file system
        def locked?(file, give_up_at)
          file.flock(::File::LOCK_EX | ::File::LOCK_NB) || within(give_up_at) { file.flock(::File::LOCK_EX) }
          true
        rescue Errno::ESTALE
          false
        end

        # All of it, whatever the caller's Timeout or Thread#kill does meanwhile.
        def release
          Thread.handle_interrupt(Object => :never) do
            next unless @mutex.owned?
            begin
              unlock_file
            ensure
              @mutex.unlock
            end
          end
        end

        # Also where it is not known whether the lock was had: an exception from another thread comes at any time.
        def unlock_file = @file && @pid == Process.pid && @file.flock(::File::LOCK_UN)

        # Waits in the kernel's queue: who asks again and again can be passed over for long.
        def within(give_up_at, &)
          remaining = give_up_at - Clock.monotonic
          raise Busy unless remaining.positive?
          Timeout.timeout(remaining, Busy, &)
        end

        def record(folder)
          plausible(@file.pread(RECORD_BYTES, offset(folder)).ljust(RECORD_BYTES, "\0").unpack(FORMAT))
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
