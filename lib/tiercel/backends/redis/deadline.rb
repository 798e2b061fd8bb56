# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"
require_relative "../../clock"
require_relative "../../optional_gems"
require_relative "../remote/tls_context"

module Tiercel
  module Backends
    class Redis < Backend
      # The deadline of the current call of this thread (or fiber), and drivers that respect it.
      #
      # redis-client's timeouts apply to each wait, and redis-cluster-client retries and reloads the cluster's state
      # if a node does not answer. A driver that limits each connect, read and write to the rest of the call's budget
      # bounds the whole call.
      module Deadline
        VARIABLE = :tiercel_redis_deadline
        # The last of many replies may arrive this much after the deadline.
        SLACK_SECONDS = 0.001
        LOST = "timeout: holds for each wait on the server, not for a whole call, until Tiercel is updated"
        private_constant :LOST

        # Raised before anything is sent, so it says nothing about the server. It is not a ConnectionError, because
        # such an error would count against the server and cause retries.
        class Spent < RedisClient::Error; end

        # @param at [Float] a time of {Clock.monotonic}
        # @return [void]
        def self.set(at)
          Thread.current[VARIABLE] = at
        end

        # Runs the block without a deadline.
        #
        # @return [Object] the block's value
        def self.outside
          at = Thread.current[VARIABLE]
          set(nil)
          yield
        ensure
          set(at)
        end

        # Runs the block with half of the remaining time.
        #
        # @return [Object] the block's value
        def self.half
          whole = Thread.current[VARIABLE] or return yield
          begin
            now = Clock.monotonic
            set(now + ((whole - now) / 2))
            yield
          ensure
            set(whole)
          end
        end

        # @param error [Class] the error to raise if no time is left
        # @return [Float, nil] seconds left, at least {SLACK_SECONDS}, because hiredis counts whole microseconds and
        #   treats 0 as no limit; nil outside a call
        # @raise [Spent, RedisClient::ReadTimeoutError]
        def self.seconds_left(error = Spent)
          at = Thread.current[VARIABLE] or return
          seconds = at - Clock.monotonic
          return [seconds, SLACK_SECONDS].max if seconds.positive?
          raise error, "no reply within the time budget"
        end

        # @return [Boolean] whether this version of redis-client was tested, so that its connections respect deadlines
        def self.known? = OptionalGems.tested?("redis-client", LOST)

        # Extends a connection class of redis-client.
        module Driver
          def initialize(config, connect_timeout:, read_timeout:, write_timeout:)
            left = Deadline.seconds_left
            super(config, connect_timeout: [connect_timeout, left].compact.min,
                          read_timeout: left || read_timeout, write_timeout: left || write_timeout)
          end

          # The request and its reply share the time that is left when the request is sent.
          def call(command, timeout)
            limit(Deadline.seconds_left)
            @limited = true
            super
          ensure
            @limited = false
          end

          def write(command)
            limit(Deadline.seconds_left) unless @limited
            super
          end

          def write_multi(commands)
            limit(Deadline.seconds_left)
            super
          end

          # Rejects a reply with a word in place of a number, an impossible size or endless nesting.
          def read(timeout = nil)
            limit_again unless @limited
            super
          rescue ArgumentError, NoMemoryError, SystemStackError => error
            raise RedisClient::ProtocolError, error.message
          end

          # redis-client resets the timeouts of a connection that leaves its pool.
          def read_timeout=(seconds)
            @limit = nil
            super
          end

          def write_timeout=(seconds)
            @limit = nil
            super
          end

          private

          # Many replies usually arrive together with the first one, so the limit rarely needs an update.
          def limit_again
            at = Thread.current[VARIABLE]
            now = Clock.monotonic
            return if at && at.equal?(@limited_until) && now - @limited_at < SLACK_SECONDS
            limit(Deadline.seconds_left(RedisClient::ReadTimeoutError))
            @limited_until = at
            @limited_at = now
          end

          # Most calls begin with nearly the whole budget, so the limit of the call before serves them too.
          def limit(seconds)
            return if seconds && @limit && (seconds - @limit).abs < SLACK_SECONDS
            self.write_timeout = seconds || config.write_timeout
            self.read_timeout = seconds || config.read_timeout
            @limit = seconds
          end
        end

        # @param timeout [Numeric, nil] seconds
        # @return [Numeric, nil] `timeout`, limited to the seconds left; 0 if none are left
        def self.at_most(timeout)
          at = Thread.current[VARIABLE] or return timeout
          [timeout, Clock.seconds_until(at)].compact.min
        end

        # @param timeout [Numeric] seconds
        # @return [Float] the time of {Clock.monotonic} by which a connection must be open
        def self.of_connecting(timeout) = Clock.monotonic + at_most(timeout)

        # Limits a socket's waits. Otherwise each wait has the whole timeout: every part of a reply, and every step of
        # a handshake.
        module Waits
          def wait_readable(timeout = nil) = super(Deadline.at_most(timeout))
          def wait_writable(timeout = nil) = super(Deadline.at_most(timeout))
        end

        # TLS was not established in time.
        class HandshakeTimeout < RedisClient::CannotConnectError
          MESSAGE = "TLS could not be set up within the time budget"
        end

        # @param name [Symbol, String, nil] :hiredis or :ruby; nil for hiredis if its gem is installed
        # @return [Class]
        # @raise [ConfigurationError]
        # @raise [MissingDependency]
        def self.driver(name)
          case name&.to_sym
          when nil then hiredis || ruby
          when :ruby then ruby
          when :hiredis
            hiredis || raise(MissingDependency, "driver: :hiredis needs the gem hiredis-client. " \
                                                "Add to the Gemfile: gem \"hiredis-client\"")
          else raise ConfigurationError, "driver: expected :hiredis or :ruby, got #{name.inspect}"
          end
        end

        # Skips the gem's own entry file, which would make hiredis the driver of every other RedisClient in the
        # application.
        def self.hiredis
          @hiredis ||= begin
            require "redis_client/hiredis_connection"
            require_relative "hiredis_sockets"
            bounded(RedisClient::HiredisConnection) { prepend HiredisSockets }
          end
        rescue LoadError
          nil
        end
        private_class_method :hiredis

        def self.ruby
          @ruby ||= begin
            require "redis_client/ruby_connection"
            require_relative "ruby_sockets"
            bounded(RedisClient::RubyConnection) { prepend RubySockets }
          end
        end
        private_class_method :ruby

        # Allows a connection class to receive a finished TLS context in place of `ssl_params`.
        module Certificates
          # @param params [Hash, Remote::TLSContext]
          # @return [OpenSSL::SSL::SSLContext]
          def ssl_context(params) = params.is_a?(Remote::TLSContext) ? params.current : super
        end

        def self.bounded(connection_class, &details)
          return connection_class unless known?
          Class.new(connection_class) do
            class_exec(&details) if details
            prepend Driver
            extend Certificates
          end
        end
        private_class_method :bounded
      end
    end
  end
end
