# frozen_string_literal: true

require "io/wait"

require_relative "../../clock"

module Tiercel
  module Backends
    module Remote
      # Waits until a socket can be read or written, after a nonblocking call has requested this, but not beyond the
      # deadline.
      module SocketWait
        # @param socket [IO, #to_io]
        # @param state [Symbol] :wait_readable or :wait_writable, of read_nonblock, write_nonblock, connect_nonblock
        # @param deadline [Float, nil] a time of {Clock.monotonic}; nil for no limit
        # @return [Boolean] false if the deadline came first
        def self.call(socket, state, deadline)
          io = socket.to_io
          seconds = deadline && Clock.seconds_until(deadline)
          !(state == :wait_writable ? io.wait_writable(seconds) : io.wait_readable(seconds)).nil?
        end
      end
    end
  end
end
