# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"
require_relative "../../clock"
require_relative "../../optional_gems"
require_relative "../remote/tls_context"

module Tiercel
  module Backends
    class Redis < Backend
      # The deadline of the call that this thread (or fiber) is making, and
      # drivers that keep to it.
      #
      # redis-client's timeouts are for each wait, and redis-cluster-client asks
      # again and reads the cluster's state anew when a node does not answer. A
      # driver that gives each connect, read and write only what is left of the
      # call's budget bounds all of that.
      module Deadline
        VARIABLE = :tiercel_redis_deadline
        # So much later than the deadline the last of many replies may come.
        SLACK_SECONDS = 0.001
        LOST = "timeout: holds for each wait on the server, not for a whole call, until Tiercel is updated"
        private_constant :LOST

        # Raised before anything is sent, so it says nothing about the server: no ConnectionError, which would be
        # counted against it and be followed by further attempts.
        class Spent < RedisClient::Error; end

        # @param at [Float] of {Clock.monotonic}
        # @return [void]
        def self.set(at)
          Thread.current[VARIABLE] = at
        end

        # The block's requests belong to no call.
        #
        # @return [Object] the block's value
        def self.outside
          at = Thread.current[VARIABLE]
          set(nil)
          yield
        ensure
          set(at)
        end

        # @param error [Class] what to raise if there are none
        # @return [Float, nil] seconds left, never less than {SLACK_SECONDS}: hiredis counts whole microseconds, and
        #   takes 0 for no limit; nil outside of a call
        # @raise [Spent, RedisClient::ReadTimeoutError]
        def self.seconds_left(error = Spent)
          at = Thread.current[VARIABLE] or return
          seconds = at - Clock.monotonic
          return [seconds, SLACK_SECONDS].max if seconds.positive?
          raise error, "no reply within the time budget"
        end

        # @return [Boolean] whether the inside of this redis-client is known, so that its connections keep to deadlines
        def self.known? = OptionalGems.tested?("redis-client", LOST)

        # For one of redis-client's connection classes.
        module Driver
          def initialize(config, connect_timeout:, read_timeout:, write_timeout:)
            left = Deadline.seconds_left
            super(config, connect_timeout: [connect_timeout, left].compact.min,
                          read_timeout: left || read_timeout, write_timeout: left || write_timeout)
          end

          # One question, one answer: both get what is left when the question is sent.
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

          def read(timeout = nil)
            limit_again unless @limited
            super
          end

          private

          # Most of many replies are there when the first is, and what is left has not changed.
          def limit_again
            at = Thread.current[VARIABLE]
            now = Clock.monotonic
            return if at && at.equal?(@limited_until) && now - @limited_at < SLACK_SECONDS
            limit(Deadline.seconds_left(RedisClient::ReadTimeoutError))
            @limited_until = at
            @limited_at = now
          end

          def limit(seconds)
            self.write_timeout = seconds || config.write_timeout
            self.read_timeout = seconds || config.read_timeout
          end
        end

        # @param timeout [Numeric, nil] seconds
        # @return [Numeric, nil] seconds, at most those that are left; 0 where none are
        def self.at_most(timeout)
          at = Thread.current[VARIABLE] or return timeout
          [timeout, Clock.seconds_until(at)].compact.min
        end

        # @param timeout [Numeric] seconds
        # @return [Float] of {Clock.monotonic}: until then a connection has to be there
        def self.of_connecting(timeout) = Clock.monotonic + at_most(timeout)

        # The waits of a socket, each of which would otherwise have all of its timeout: of a reply that comes in
        # pieces, and of a handshake.
        module Waits
          def wait_readable(timeout = nil) = super(Deadline.at_most(timeout))
          def wait_writable(timeout = nil) = super(Deadline.at_most(timeout))
        end

        # TLS was not set up in time.
        class HandshakeTimeout < RedisClient::CannotConnectError
          MESSAGE = "TLS could not be set up within the time budget"
        end

        # @param name [Symbol, String, nil] :hiredis, :ruby; nil for hiredis where its gem is there
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

        # Loaded without the gem's own entry file, which would make it the driver of every other
        # RedisClient of the application.
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

        # In the place of `ssl_params` a connection class may be given the context that was made of them.
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
