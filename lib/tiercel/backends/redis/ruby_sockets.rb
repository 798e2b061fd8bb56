# frozen_string_literal: true

require "openssl"
require "redis_client/ruby_connection"
require "socket"

require_relative "../remote/dial"
require_relative "../remote/handshake"
require_relative "deadline"

module Tiercel
  module Backends
    class Redis < Backend
      module Deadline
        # Extends redis-client's driver in Ruby and replaces its connect method, which resolves names and connects to
        # Unix sockets without a timeout, and whose other timeouts apply to each wait.
        module RubySockets
          # Rejects an endless line. redis-client searches all of it again whenever 4 KiB of it arrive, and while they
          # keep arriving, nothing waits, so no time budget ends the call.
          class BoundedLines < RedisClient::RubyConnection::BufferedIO
            # Servers send a value with its length, and as lines only numbers and short texts.
            MOST_BYTES = 65_536
            private_constant :MOST_BYTES

            private

            def fill_buffer(strict, *)
              if !strict && @buffer.bytesize - @offset > MOST_BYTES
                raise RedisClient::ProtocolError, "a line of more than #{MOST_BYTES} bytes"
              end
              super
            end
          end
          private_constant :BoundedLines

          # Closes the connection even if forked children hold a copy of its descriptor.
          #
          # @return [void]
          def shut_down
            @socket.shutdown
          rescue SystemCallError, IOError
            nil # the connection is already closed
          end

          private

          def connect
            @server_key = config.server_key
            deadline = Deadline.of_connecting(@connect_timeout)
            @socket = socket = open_socket(deadline).extend(Waits)
            socket = Remote::Handshake.over(socket, config.ssl_context, config.host, deadline) if config.ssl
            @io = BoundedLines.new(socket, read_timeout: @read_timeout, write_timeout: @write_timeout)
            true
          rescue IO::TimeoutError
            raise HandshakeTimeout, HandshakeTimeout::MESSAGE
          rescue SystemCallError, IOError, OpenSSL::SSL::SSLError, SocketError => error
            raise RedisClient::CannotConnectError, error.message, error.backtrace
          end

          def open_socket(deadline)
            return Remote::Dial.unix(config.path, deadline) if config.path
            Remote::Dial.tcp(config.host, config.port, deadline).tap do |socket|
              socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
              enable_socket_keep_alive(socket)
            end
          end
        end
      end
    end
  end
end
