# frozen_string_literal: true

require "redis-client"
require "timeout"

require_relative "../remote/dial"
require_relative "deadline"
require_relative "reply_watch"

module Tiercel
  module Backends
    class Redis < Backend
      module Deadline
        # Extends the driver in C. It resolves names in Ruby, because hiredis' own name resolution has no timeout.
        # hiredis' other timeouts apply to each wait; {ReplyWatch} limits the whole call. If the second half of a TLS
        # handshake is missing, the first write retries without end, so a PING makes that write while connecting.
        module HiredisSockets
          # hiredis itself only reports that a resource is temporarily unavailable.
          UNNAMED = "TLS could not be set up, which hiredis gives no reason for; the certificate may be at fault"
          UNINTERRUPTED = { Object => :never }.freeze
          FAILURES = [*Remote::Dial::FAILURES, RedisClient::Error].freeze
          private_constant :UNINTERRUPTED, :FAILURES

          def call(command, timeout) = watched { super }
          def call_pipelined(commands, timeouts, exception: true) = watched { super }
          def write_multi(commands) = watched { super }
          def read(timeout = nil) = watched { super }

          # @return [Float, nil] the deadline of the current call; nil between calls
          attr_reader :watched_until

          # Ends the wait of a late call. If that call has just ended, the next one sets its own timeouts.
          #
          # @return [void]
          def expire
            self.read_timeout = ReplyWatch::NO_TIME
            self.write_timeout = ReplyWatch::NO_TIME
            @limit = nil # the next call may have set its limit in between
          end

          # hiredis would reconnect to the name's old address.
          def reconnect
            close
            connect
          end

          private

          # @return [Object] the block's value
          def watched
            return yield if @watched_until || (deadline = Thread.current[VARIABLE]).nil?
            begin
              @watched_until = deadline
              ReplyWatch.called = true
              ReplyWatch.wake unless ReplyWatch.awake
              yield
            ensure
              @watched_until = nil
            end
          end

          def connect
            ReplyWatch.add(self)
            (config.path ? super : connect_by_address).tap { finish_handshake if config.ssl }
          rescue RedisClient::CannotConnectError, RedisClient::ReadTimeoutError => error
            raise unless config.ssl && error.message.start_with?(Errno::EAGAIN.new.message)
            raise HandshakeTimeout, HandshakeTimeout::MESSAGE if Deadline.at_most(@connect_timeout) < SLACK_SECONDS
            raise RedisClient::CannotConnectError, UNNAMED
          end

          # hiredis turns every interruption of its wait for a connection into a failed connection. A caller's Timeout
          # or Thread#kill would be lost, so it waits for the end of the attempt.
          def _connect(...) = Thread.handle_interrupt(UNINTERRUPTED) { super }

          def connect_by_address
            @server_key = config.server_key
            whole = @connect_timeout
            deadline = Deadline.of_connecting(whole)
            Remote::Dial.each_address(config.host, config.port, deadline, FAILURES) do |address, seconds|
              self.connect_timeout = [seconds, SLACK_SECONDS].max # 0 would mean no limit
              _connect(nil, address.ip_address, config.port, config.ssl_context)
            end
          rescue SystemCallError, SocketError => error
            raise RedisClient::CannotConnectError, error.message
          ensure
            self.connect_timeout = whole
          end

          def finish_handshake
            seconds = [Deadline.at_most(@connect_timeout), SLACK_SECONDS].max # 0 would mean no limit
            Timeout.timeout(seconds, HandshakeTimeout, HandshakeTimeout::MESSAGE) do
              _write(%w[PING])
              flush
              _read # any reply will do, even a demand for the password
            end
          rescue HandshakeTimeout, RedisClient::ConnectionError, SystemCallError, IOError => error
            close
            raise error if error.is_a?(RedisClient::Error)
            raise RedisClient::CannotConnectError, error.message
          end
        end
      end
    end
  end
end
