# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../clock"

module Tiercel
  module Backends
    class SQLite < Backend
      # Keeps the write-ahead log short while several processes write.
      #
      # SQLite writes the log back by itself, concurrently with writers. A writer restarts the log only if every page
      # of it has been written back. If several processes write, a new page arrives before that, and the log grows
      # without bound. This class empties the log under the write lock, for which SQLite itself does not wait. All
      # processes that find the log too long stop writing until it is empty.
      class Log
        # A file check is due each time this many bytes of the limit were written.
        BYTES_PER_LOOK = 32 * 1024
        INTERVALS = (8..64)
        # The longest interval between checks after failed attempts.
        LONGEST_INTERVAL = 512
        # A check is due earlier once this fraction of the limit was written.
        LOOK_SHARE = 8
        # A single writer's log grows to its limit plus one transaction before SQLite restarts it.
        TOLERANCE = 1.25
        # Maximum time that a write waits for a short log; a stopped reader can keep the log long.
        PATIENCE_SECONDS = 0.1
        PAUSE_SECONDS = 0.0005

        # @param path [String] the path of the database
        # @param settings [Settings] settings whose `wal_bytes` limit the log; SQLite writes it back at that size
        def initialize(path, settings)
          @path = "#{path}-wal"
          @settings = settings
          @patience_seconds = [settings.timeout_seconds, PATIENCE_SECONDS].min
          take_limit
          @writes = @written_bytes = 0
        end

        # Counts a write and occasionally checks the file.
        #
        # @param bytes [Integer] number of bytes written
        # @return [Boolean] whether the log must be emptied
        def too_long?(bytes)
          take_limit
          @written_bytes += bytes
          return false if (@writes += 1) < @interval && (@written_bytes < @look_bytes || @interval > @usual_interval)
          @writes = @written_bytes = 0
          long?
        end

        # Retries until the log is empty, another process has emptied it, or the time is over.
        #
        # @yieldreturn [Boolean, nil] whether an attempt emptied the log
        # @return [void]
        def shorten
          ends_at = Clock.monotonic + @patience_seconds
          until (short = yield || !long?) || Clock.monotonic >= ends_at
            sleep(PAUSE_SECONDS * (0.5 + rand))
          end
          @interval = short ? @usual_interval : [@interval * 2, longest_interval].min
        end

        private

        def long? = (::File.size?(@path) || 0) > @longest_bytes

        # The limit shrinks when the disk has less space.
        def take_limit
          bytes = @settings.wal_bytes
          return if bytes == @limit_bytes
          @limit_bytes = bytes
          @longest_bytes = (bytes * TOLERANCE).to_i
          @look_bytes = bytes / LOOK_SHARE
          @usual_interval = @settings.short_of_disk? ? 1 : (bytes / BYTES_PER_LOOK).clamp(INTERVALS)
          @interval = @usual_interval
        end

        # On a disk without space for a long log, every write checks the log.
        def longest_interval = @settings.short_of_disk? ? 1 : LONGEST_INTERVAL
      end
    end
  end
end
