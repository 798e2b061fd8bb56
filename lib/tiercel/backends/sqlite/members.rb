# frozen_string_literal: true

require "sqlite3"

module Tiercel
  module Backends
    class SQLite < Backend
      # Records which processes change the file, so that processes with near copies notice changes by others. There is
      # one row for each near segment, and one row for all processes without one. A row is renewed before a change,
      # and seldom enough to cost nothing.
      class Members
        RENEWED_SECONDS = 10
        # An older row is deleted.
        FORGOTTEN_SECONDS = 86_400
        # Prefix of these rows in `totals`.
        PREFIX = "member:"
        PLAIN = "plain"

        # @return [String] the near segment to which this process' changes are attributed, or {PLAIN}
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

        # Call this before a change.
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
          nil # the change itself meets the same error next
        end

        # @param connection [Connection]
        # @param since [Float]
        # @return [Boolean] whether another member may have changed something since then
        def others?(connection, since)
          connection.number(:other_members, @row, ((since - RENEWED_SECONDS) * 1_000).to_i).positive?
        end
      end
    end
  end
end
