# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../clock"

module Tiercel
  module Backends
    class SQLite < Backend
      # Keeps the write-ahead log short where several processes write.
      #
      # SQLite writes the log back by itself, beside the writers, and begins it
      # anew when a writer finds that nothing is left in it. Of several writers
      # one has always added something meanwhile, so the log would grow without
      # an end. Here it is emptied under the lock of writers, for which SQLite
      # does not wait; all who find it too long stop writing until it is done,
      # so it is done soon.
      class Log
        # Writes between two looks at the file: one for so many bytes of the limit.
        BYTES_PER_LOOK = 32 * 1024
        INTERVALS = (8..64)
        # The most where emptying it did not succeed.
        LONGEST_INTERVAL = 512
        # A look comes earlier after this share of the limit was written.
        LOOK_SHARE = 8
        # A single writer's log reaches its limit and a transaction more, and is begun anew by SQLite.
        TOLERANCE = 1.25
        # How long a write waits for a short log, at most: a stopped reader can keep it long.
        PATIENCE_SECONDS = 0.1
        PAUSE_SECONDS = 0.0005

        # @param path [String] of the database
        # @param settings [Settings] whose `wal_bytes` are the limit at which SQLite writes the log back by itself
        def initialize(path, settings)
          @path = "#{path}-wal"
          @settings = settings
          @patience_seconds = [settings.timeout_seconds, PATIENCE_SECONDS].min
          take_limit
          @writes = @written_bytes = 0
        end

        # Counts a write, and now and then looks at the file.
        #
        # @param bytes [Integer] that were written
        # @return [Boolean] whether the log is to be emptied
        def too_long?(bytes)
          take_limit
          @written_bytes += bytes
          return false if (@writes += 1) < @interval && (@written_bytes < @look_bytes || @interval > @usual_interval)
          @writes = @written_bytes = 0
          long?
        end

        # Tries until the log is empty, another process emptied it, or patience ends.
        #
        # @yieldreturn [Boolean, nil] of one attempt, whether it is empty now
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

        # It is less than before where the disk has become smaller.
        def take_limit
          bytes = @settings.wal_bytes
          return if bytes == @limit_bytes
          @limit_bytes = bytes
          @longest_bytes = (bytes * TOLERANCE).to_i
          @look_bytes = bytes / LOOK_SHARE
          @usual_interval = @settings.short_of_disk? ? 1 : (bytes / BYTES_PER_LOOK).clamp(INTERVALS)
          @interval = @usual_interval
        end

        # On a disk without room for a long log every write looks at it.
        def longest_interval = @settings.short_of_disk? ? 1 : LONGEST_INTERVAL
      end
    end
  end
end
