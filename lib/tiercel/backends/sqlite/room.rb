# frozen_string_literal: true

require "sqlite3"

require_relative "../../clock"
require_relative "../../errors"

module Tiercel
  module Backends
    class SQLite < Backend
      # Writes that make room where the file is full.
      class Room
        # How often room is made for one write: each time more, because rows do not fill their pages, and other
        # processes write too.
        ATTEMPTS = 4

        # @param access [Access]
        # @param housekeeping [Housekeeping]
        # @param budget_seconds [Float] for making room
        def initialize(access, housekeeping, budget_seconds)
          @access = access
          @housekeeping = housekeeping
          @budget_seconds = budget_seconds
        end

        # Runs the block with the connection, again after room was made where the file was full.
        #
        # @param key [String, nil] for messages
        # @param bytesize [Integer] what it writes
        # @yieldparam connection [Connection]
        # @return [Object] the block's value
        # @raise [BackendError]
        def write(key, bytesize, &)
          attempts = 0
          begin
            @access.use(key, &)
          rescue Refused => error
            raise unless error.cause.is_a?(SQLite3::FullException) && (attempts += 1) <= ATTEMPTS
            give_up_at ||= Clock.monotonic + @budget_seconds
            wanted = bytesize * attempts
            raise unless @access.use(key) { |connection| @housekeeping.make_room(connection, wanted, give_up_at) }
            retry
          end
        end
      end
    end
  end
end
