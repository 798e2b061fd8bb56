# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../errors"
require_relative "log"

module Tiercel
  module Backends
    class SQLite < Backend
      # Runs writes and the work that follows them: making space in a full file, shortening the log, and rounds of
      # housekeeping.
      class Writer
        # Maximum attempts to make space for one write. Each frees more than the last, because rows do not fill their
        # pages and other processes write too.
        ATTEMPTS = 4

        # @param access [Access]
        # @param housekeeping [Housekeeping]
        # @param settings [Settings]
        def initialize(access, housekeeping, settings)
          @access = access
          @housekeeping = housekeeping
          @budget_seconds = settings.timeout_seconds
          @log = Log.new(access.path, settings)
        end

        # Runs the block with the connection. If the file is full, makes space and runs it again.
        #
        # @param key [String, nil] the key, for messages
        # @param bytesize [Integer] number of bytes to write
        # @yieldparam connection [Connection]
        # @return [Object] the block's value
        # @raise [BackendError]
        def write(key, bytesize, &)
          attempts = 0
          begin
            @access.write(key, &)
          rescue Refused => error
            raise unless full?(error) && (attempts += 1) <= ATTEMPTS
            give_up_at ||= Clock.monotonic + @budget_seconds
            raise unless make_room(key, bytesize * attempts, give_up_at)
            retry
          end
        end

        # Runs after a successful write, so errors here are ignored; the next call meets them and reports them.
        #
        # @param bytes [Integer] number of bytes written
        # @param now [Float]
        # @param added [Boolean] whether the write added a row instead of replacing one
        # @return [void]
        def keep_house(bytes, now, added: true)
          @log.shorten { @access.try(&:checkpoint) } if @log.too_long?(bytes)
          @access.try { |connection| @housekeeping.round(connection, now) } if @housekeeping.due?(added ? bytes : 0)
        rescue *Access::FAILURES
          nil
        end

        private

        def full?(error) = error.cause.is_a?(SQLite3::FullException)

        # Evicting writes to the log too. On a full disk, the log is therefore emptied first.
        #
        # @return [Boolean] whether to write again
        def make_room(key, bytes, give_up_at)
          gained = gain_disk(bytes)
          @access.write(key) { |connection| @housekeeping.make_room(connection, bytes, give_up_at) } || gained
        rescue Refused => error
          raise unless full?(error)
          gained || @access.begin_anew
        end

        def gain_disk(bytes)
          @access.try { |connection| connection.gain_disk?(bytes) }
        rescue *Access::FAILURES
          false
        end
      end
    end
  end
end
