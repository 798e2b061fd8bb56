# frozen_string_literal: true

require "openssl"
require "socket"

module Tiercel
  module Lab
    module Servers
      # Talks to a server without a client library: to see whether it is ready, and for requests of tests.
      module Conversation
        # Opens a connection, which the caller closes.
        #
        # @param within [Numeric] seconds for the connection and each read
        # @return [IO, OpenSSL::SSL::SSLSocket]
        def connect(within: 1)
          io = socket ? UNIXSocket.new(socket) : Socket.tcp(Server::HOST, port, connect_timeout: within)
          io.timeout = within
          certificate ? encrypt(io) : io
        end

        # Sends bytes over a new connection, and yields it so that the block can read the answer.
        #
        # @param bytes [String] including line ends
        # @param within [Numeric] seconds for each read
        # @yieldparam io [IO]
        # @return [Object, nil] the block's value; nil if the server did not answer in time
        def exchange(bytes, within: 1)
          io = connect(within: within)
          io.write(bytes)
          yield io
        rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
          nil
        ensure
          io&.close
        end

        private

        def encrypt(io)
          context = OpenSSL::SSL::SSLContext.new
          context.set_params(ca_file: certificate.file)
          ssl = OpenSSL::SSL::SSLSocket.new(io, context)
          ssl.sync_close = true
          ssl.hostname = "localhost"
          ssl.connect
        rescue OpenSSL::SSL::SSLError, SystemCallError, IOError
          io.close
          raise
        end
      end
    end
  end
end
