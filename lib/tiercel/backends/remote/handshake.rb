# frozen_string_literal: true

require "io/wait"
require "openssl"

require_relative "../../clock"

module Tiercel
  module Backends
    module Remote
      # TLS over a connected socket, under the deadline of a call: a server that
      # says nothing, stops in the middle, or sends its part byte by byte holds
      # nobody up.
      module Handshake
        module_function

        # @param socket [Socket] connected; closed where the handshake fails
        # @param context [OpenSSL::SSL::SSLContext]
        # @param host [String] whose certificate is expected
        # @param deadline [Float] of {Clock.monotonic}
        # @return [OpenSSL::SSL::SSLSocket]
        # @raise [OpenSSL::SSL::SSLError, SystemCallError, IOError]
        def over(socket, context, host, deadline)
          secured = OpenSSL::SSL::SSLSocket.new(socket, context)
          secured.hostname = host
          secured.sync_close = true
          until (state = secured.connect_nonblock(exception: false)).equal?(secured)
            wait(socket, state, deadline)
          end
          done = secured
        ensure
          socket.close unless done
        end

        def wait(socket, state, deadline)
          seconds = [deadline - Clock.monotonic, 0].max
          return if state == :wait_writable ? socket.wait_writable(seconds) : socket.wait_readable(seconds)
          raise IO::TimeoutError, "TLS could not be set up within the time budget"
        end
        private_class_method :wait
      end
    end
  end
end
