# frozen_string_literal: true

require "openssl"

require_relative "socket_wait"

module Tiercel
  module Backends
    module Remote
      # Opens TLS over a connected socket within the call's deadline, even if the server sends nothing, stops halfway,
      # or sends its part byte by byte.
      module Handshake
        LATE = "TLS could not be set up within the time budget"
        private_constant :LATE

        module_function

        # @param socket [Socket] a connected socket; closed if the handshake fails
        # @param context [OpenSSL::SSL::SSLContext]
        # @param host [String] the host name that the certificate must contain
        # @param deadline [Float] a time of {Clock.monotonic}
        # @return [OpenSSL::SSL::SSLSocket]
        # @raise [OpenSSL::SSL::SSLError, SystemCallError, IOError]
        def over(socket, context, host, deadline)
          secured = OpenSSL::SSL::SSLSocket.new(socket, context)
          secured.hostname = host
          secured.sync_close = true
          until (state = secured.connect_nonblock(exception: false)).equal?(secured)
            SocketWait.call(socket, state, deadline) || raise(IO::TimeoutError, LATE)
          end
          done = secured
        ensure
          socket.close unless done
        end
      end
    end
  end
end
