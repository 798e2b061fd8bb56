# frozen_string_literal: true

require "socket"

module Tiercel
  module Backends
    module Remote
      # Opens connections within a call's deadline. The deadline covers the name lookup and the attempts for all
      # addresses together. The libraries' own timeouts apply to each address separately, and their lookups have no
      # timeout.
      module Dial
        NUMERIC = Socket::AI_NUMERICHOST
        LATE = "no connection within the time budget"
        # Seconds between two attempts if a Unix socket's queue is full.
        PAUSE = 0.002
        # Errors after which the next address is tried. Any other error, such as a Timeout, interrupts the caller.
        FAILURES = [SystemCallError, SocketError, IOError].freeze
        private_constant :NUMERIC, :LATE, :PAUSE

        module_function

        # @param host [String] a name or an address
        # @param port [Integer]
        # @param deadline [Float] a time of {Clock.monotonic}
        # @return [Socket] connected
        # @raise [SystemCallError, SocketError] {Errno::ETIMEDOUT} past the deadline
        def tcp(host, port, deadline)
          each_address(host, port, deadline) { |address, seconds| address.connect(timeout: seconds) }
        end

        # @param path [String]
        # @param deadline [Float] a time of {Clock.monotonic}
        # @return [Socket] connected
        # @raise [SystemCallError] {Errno::ETIMEDOUT} past the deadline
        def unix(path, deadline)
          Addrinfo.unix(path).connect(timeout: seconds_left(deadline))
        rescue Errno::EAGAIN
          sleep PAUSE
          retry
        end

        # Calls the block with each address and a share of the remaining time, until the block succeeds.
        #
        # @param failures [Array<Class>] the errors of the block after which the next address is tried
        # @yieldparam address [Addrinfo]
        # @yieldparam seconds [Float]
        # @return [Object] the block's value
        # @raise [SystemCallError, SocketError] also the block's error for the last address
        def each_address(host, port, deadline, failures = FAILURES)
          addresses = look_up(host, port, deadline)
          addresses.each_with_index do |address, index|
            return yield address, seconds_left(deadline) / (addresses.size - index)
          rescue *failures
            raise if index == addresses.size - 1 || Clock.monotonic >= deadline
          end
        end

        # An address needs no lookup. A name is looked up in a separate thread, which is killed after the deadline.
        #
        # @param host [String] an IPv6 address may have the brackets of a URL
        # @return [Array<Addrinfo>]
        def look_up(host, port, deadline)
          host = host.delete_prefix("[").delete_suffix("]")
          Addrinfo.getaddrinfo(host, port, nil, :STREAM, nil, NUMERIC)
        rescue SocketError
          thread = Thread.new { Addrinfo.getaddrinfo(host, port, nil, :STREAM) }
          thread.report_on_exception = false
          thread.name = "tiercel look-up"
          return thread.value if thread.join(seconds_left(deadline))
          thread.kill
          raise Errno::ETIMEDOUT, "the name #{host} was not looked up within the time budget"
        end

        def seconds_left(deadline)
          seconds = deadline - Clock.monotonic
          seconds.positive? ? seconds : raise(Errno::ETIMEDOUT, LATE)
        end
      end
    end
  end
end
