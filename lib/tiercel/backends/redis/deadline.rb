# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"
require_relative "../../clock"

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

        # Raised before anything is sent, so it says nothing about the server: no ConnectionError, which would be
        # counted against it and be followed by further attempts.
        class Spent < RedisClient::Error; end

        # @param at [Float] of {Clock.monotonic}
        # @return [void]
        def self.set(at)
          Thread.current[VARIABLE] = at
        end

        # @param error [Class] what to raise if there are none
        # @return [Float, nil] seconds left; nil outside of a call
        # @raise [Spent, RedisClient::ReadTimeoutError]
        def self.seconds_left(error = Spent)
          at = Thread.current[VARIABLE] or return
          seconds = at - Clock.monotonic
          return seconds if seconds.positive?
          raise error, "no reply within the time budget"
        end

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
            limit(Deadline.seconds_left(RedisClient::ReadTimeoutError)) unless @limited
            super
          end

          private

          def limit(seconds)
            self.write_timeout = seconds || config.write_timeout
            self.read_timeout = seconds || config.read_timeout
          end
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
            bounded(RedisClient::HiredisConnection)
          end
        rescue LoadError
          nil
        end
        private_class_method :hiredis

        def self.ruby
          @ruby ||= begin
            require "redis_client/ruby_connection"
            bounded(RedisClient::RubyConnection)
          end
        end
        private_class_method :ruby

        # What TLS is made from is read by the first connection: hiredis raises a RuntimeError where it cannot.
        module Certificates
          def ssl_context(ssl_params)
            super
          rescue RuntimeError => error
            raise error if error.is_a?(RedisClient::Error)
            raise RedisClient::CannotConnectError, "ssl_params: #{error.message}"
          end
        end

        # All that hiredis says where TLS could not be agreed on is that nothing is there to be read.
        module Handshake
          SAYS_NOTHING = Errno::EAGAIN.new.message.freeze

          def initialize(config, ...)
            super
          rescue RedisClient::ConnectionError => error
            raise unless config.ssl && error.message.include?(SAYS_NOTHING)
            raise error.class, "#{error.message}: TLS could not be set up, and hiredis does not say why; is the " \
                               "server's certificate trusted (ssl_params: { ca_file: }), and does TLS listen there? " \
                               "driver: :ruby says more"
          end
        end

        def self.bounded(connection_class)
          Class.new(connection_class) do
            prepend Driver
            prepend Handshake
            extend Certificates
          end
        end
        private_class_method :bounded
      end
    end
  end
end
