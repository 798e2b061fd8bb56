# frozen_string_literal: true

require "socket"

module Tiercel
  module Lab
    module Network
      # Measures the time between a request and its answer. Reports show it as the distance, whatever the configured
      # delay.
      module RoundTrip
        SAMPLES = 50

        # @param host [String]
        # @param port [Integer]
        # @param request [String] has a one-line answer: "version\r\n" for memcached, "PING\r\n" for Redis
        # @param samples [Integer]
        # @return [Float] seconds, the median
        def self.measure(host, port, request:, samples: SAMPLES)
          socket = TCPSocket.new(host, port)
          socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
          seconds = Array.new(samples) { once(socket, request) }.sort
          (seconds[(samples - 1) / 2] + seconds[samples / 2]) / 2
        ensure
          socket&.close
        end

        def self.once(socket, request)
          start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          socket.write(request)
          socket.gets or raise EOFError, "no answer to #{request.inspect}"
          Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
        end
        private_class_method :once
      end
    end
  end
end
