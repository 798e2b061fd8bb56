# frozen_string_literal: true

require "sqlite3"

require_relative "schema"

module Tiercel
  module Backends
    class SQLite < Backend
      # The processes that change the file, so that those with copies of it notice each other: a row for each near
      # segment, and one for all programs that have none. It is renewed before a change, and seldom, so that it costs
      # nothing.
      class Members
        RENEWED_SECONDS = 10
        # A row that old is of nobody any more.
        FORGOTTEN_SECONDS = 86_400
        # Of rows in `totals`.
        PREFIX = "member:"
        PLAIN = "plain"

        # @return [String] whose changes this process' are: a near segment's, or {PLAIN}
        attr_reader :name

        def initialize
          self.name = PLAIN
        end

        # @param name [String]
        def name=(name)
          return if name == @name
          @row = "#{PREFIX}#{name}".freeze
          @renewed_at = nil
          @name = name
        end

        # Before a change.
        #
        # @param connection [Connection]
        # @param now [Float]
        # @return [void]
        def renew(connection, now)
          renewed_at = @renewed_at
          return if renewed_at && (now - renewed_at).abs < RENEWED_SECONDS && connection.equal?(@connection)
          connection.change(:put_member, @row, (now * 1_000).to_i)
          connection.change(:forget_members, ((now - FORGOTTEN_SECONDS) * 1_000).to_i)
          @connection = connection
          @renewed_at = now
        rescue SQLite3::FullException
          nil # what the change itself does about it comes next
        end

        # @param connection [Connection]
        # @param since [Float]
        # @return [Boolean] whether others may have changed something since then
        def others?(connection, since)
          connection.number(:other_members, @row, ((since - RENEWED_SECONDS) * 1_000).to_i).positive?
        end
      end
    end
  end
end
