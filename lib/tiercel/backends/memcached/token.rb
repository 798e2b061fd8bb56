# frozen_string_literal: true

require_relative "../../backend"
require_relative "openings"

module Tiercel
  module Backends
    class Memcached < Backend
      # The token for {Backend#compare_and_set}: the cas number of an entry, and the number of the newest connection of
      # this process when the entry was read.
      #
      # A restarted server counts its cas numbers from 1 again. A connection that is older than the read, and works
      # still, leads to the server that answered the read. Over any other connection nothing is compared: it might lead
      # to a server that has begun anew.
      Token = Struct.new(:cas, :newest) do
        # @param line [String] of a reply, with its {Openings::FLAG}
        # @return [Token]
        def self.of(line) = new(Protocol.number(line, " c") || Token::NEVER, Protocol.number(line, Openings::FLAG))

        # @param connection [Connection] that the request goes over
        # @return [Integer] the cas number, or one that no entry has
        def cas_over(connection) = connection.number <= newest ? cas : Token::NEVER
      end
      # No server counts that far.
      Token::NEVER = (2**64) - 1
    end
  end
end
