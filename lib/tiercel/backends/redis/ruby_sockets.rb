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
          # Rejects a reply with a word in place of a number, an impossible size or endless nesting.
          def read(timeout = nil)
            super
          rescue ArgumentError, NoMemoryError, SystemStackError => error
            raise RedisClient::ProtocolError, error.message
          end

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
            @io = RedisClient::RubyConnection::BufferedIO.new(socket, read_timeout: @read_timeout,
                                                                      write_timeout: @write_timeout)
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
