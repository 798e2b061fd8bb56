# frozen_string_literal: true

require_relative "../../backend"
require_relative "connection"

module Tiercel
  module Backends
    class Memcached < Backend
      # The token for {Backend#compare_and_set}: an entry's cas number, and the number of this process' newest
      # connection at the time of the read.
      #
      # A restarted server counts its cas numbers from 1 again. A working connection that is older than the read leads
      # to the same server process that answered the read. Over a newer connection the comparison always fails,
      # because that connection might lead to a restarted server.
      Token = Struct.new(:cas, :newest) do
        # @param line [String] a response line with its {Connection::FLAG}
        # @return [Token]
        def self.of(line) = new(Protocol.number(line, " c") || Token::NEVER, Protocol.number(line, Connection::FLAG))

        # @param connection [Connection] the connection of the request
        # @return [Integer] the cas number, or a number that no entry has
        def cas_over(connection) = connection.number <= newest ? cas : Token::NEVER
      end
      # No server's cas numbers reach this value.
      Token::NEVER = (2**64) - 1
    end
  end
end
