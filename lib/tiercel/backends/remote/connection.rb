# frozen_string_literal: true

require "io/wait"
require "openssl"
require "socket"

module Tiercel
  module Backends
    module Remote
      # One socket to one server, with a deadline for each call.
      #
      # This is our own code for two reasons. Every wait ends at the call's deadline, whereas the timeouts of other
      # clients apply to each wait separately (and their handshakes have none). And a get of memcached costs 1.07
      # times a bare socket's time, compared with 1.33 times through Dalli (adr/006).
      #
      # A connection is busy from the first byte of a request to the last byte of its response. The {Pool} closes a
      # connection that is returned busy. Subclasses know a protocol.
      class Connection
        # The server closed a connection that had served earlier calls: the call is retried on a new one.
        class Lost < IOError; end
        # The server's bytes do not follow the protocol.
        class Garbage < IOError; end

        CHUNK_BYTES = 64 * 1024
        # Bytes per read of a response that continues.
        MORE_BYTES = 256 * 1024
        # Bytes per read, for a value larger than that.
        READ_BYTES = 1024 * 1024
        # The largest -I that memcached accepts, and more than Redis' proto-max-bulk-len.
        VALUE_BYTES = 1024 * 1024 * 1024
        # The maximum length of a response line ("stats settings" prints paths).
        LINE_BYTES = 8 * 1024
        CRLF = "\r\n"

        # @param host [String] a host name, or the path of a Unix socket
        # @param port [Integer, nil] nil for a Unix socket
        # @param connect_timeout [Float, nil] seconds, including TLS
        # @param tls [#current, nil] provides an OpenSSL::SSL::SSLContext
        def initialize(host, port, connect_timeout: nil, tls: nil)
          @host = host
          @port = port
          @connect_timeout = connect_timeout
          @tls = tls
          @io = nil
          @busy = false
        end

        # @return [String]
        attr_reader :host

        # @return [Boolean] whether no response is outstanding
        def clean? = !@busy

        # Runs the block, which exchanges requests and responses.
        #
        # A server that restarts or closes idle connections leaves dead ones in the pool. If the connection turns out
        # to be dead, the block runs once more on a new one. A call that must not be sent twice checks the connection
        # first.
        #
        # @param deadline [Float] a time of {Clock.monotonic}
        # @param resend [Boolean] whether the block's request may be sent twice
        # @return [Object] the block's value
        def use(deadline, resend: true)
          fresh = open(deadline, verify: !resend)
          yield self, deadline
        rescue Lost
          raise if fresh || !resend
          close
          open(deadline)
          yield self, deadline
        end

        # Connects if needed. Closes a connection with an outstanding response first.
        #
        # @param deadline [Float, nil] a time of {Clock.monotonic}
        # @param verify [Boolean] whether to check first that the server has not closed the connection (costs a system
        #   call); for requests that must not be sent twice
        # @return [Boolean] whether the connection is a new one
        def open(deadline, verify: false)
          return false if @io && !@busy && !(verify && stale?)
          connect(deadline)
          true
        end

        # @return [void]
        def close
          io = @io
          @io = nil
          @busy = false
          io&.close
        rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
          nil
        end

        # Sends a request. While the server does not accept it, this method reads responses that arrive, so that
        # neither side blocks the other.
        #
        # @param request [String]
        # @param deadline [Float]
        # @return [void]
        def write(request, deadline)
          @busy = true
          sent = @io.write_nonblock(request, exception: false)
          return if sent == request.bytesize
          write_rest(request, sent, deadline)
        rescue Errno::EPIPE, Errno::ECONNRESET => error
          raise Lost, error.message
        end

        # @param deadline [Float]
        # @param line_end [String] CR LF; only metadump's response uses LF
        # @return [String] a response line without its line end
        def read_line(deadline, line_end = CRLF)
          at = line_end(deadline, line_end)
          line = @buffer.byteslice(@position, at - @position)
          @position = at + line_end.bytesize
          line
        end

        # Skips a line of these two bytes, the usual reply to a write, without a new String.
        #
        # @return [Boolean] false if the next line is another one, or has not arrived
        def skip_line?(first, second)
          buffer, at = @buffer, @position
          return false unless buffer.getbyte(at + 3) == 10 && buffer.getbyte(at) == first &&
                              buffer.getbyte(at + 1) == second && buffer.getbyte(at + 2) == 13
          @position = at + 4
          true
        end

        # @return [Integer] the position of the next line end
        def line_end(deadline, line_end = CRLF)
          until (at = @buffer.byteindex(line_end, @position))
            endless if @buffer.bytesize - @position > self.class::LINE_BYTES
            fill(deadline)
          end
          at
        end

        # @param bytes [Integer] the length of the value
        # @param deadline [Float]
        # @return [String] the value, in binary
        def read_value(bytes, deadline)
          raise Garbage, "a value of #{bytes} bytes" if bytes > VALUE_BYTES
          fill(deadline, bytes) while @buffer.bytesize - @position < bytes + 2
          raise Garbage, "a value does not end where it should" unless @buffer.getbyte(@position + bytes) == 13
          value = @buffer.byteslice(@position, bytes)
          @position += bytes + 2
          value
        end

        # Records that the response has been read.
        #
        # @return [void]
        def finish
          raise Garbage, "#{@buffer.bytesize - @position} bytes after the response" if @position < @buffer.bytesize
          start_buffer if @position > READ_BYTES # frees the memory that a large response needed
          @busy = false
        end

        private

        # No caller gets a connection that has not logged in.
        def connect(deadline)
          close
          @io = open_socket(deadline)
          start_buffer
          greet(deadline)
          finish
          connected = true
        ensure
          close unless connected
        end

        # Subclasses log in here.
        def greet(_deadline) = nil

        def start_buffer
          @buffer = String.new(capacity: CHUNK_BYTES)
          @chunk = String.new # for what arrives while the buffer has something; keeps its memory
          @position = 0
        end

        def open_socket(deadline)
          now = Clock.monotonic
          raise IO::TimeoutError, "no time left to connect" unless deadline > now
          deadline = [deadline, now + @connect_timeout].min if @connect_timeout
          return Dial.unix(@host, deadline) unless @port
          socket = with_options(Dial.tcp(@host, @port, deadline))
          @tls ? secured(socket, deadline) : socket
        end

        # Opens TLS over a connected socket within the deadline, even if the server sends nothing, stops halfway, or
        # sends its part byte by byte.
        def secured(socket, deadline)
          secured = OpenSSL::SSL::SSLSocket.new(socket, @tls.current)
          secured.hostname = @host
          secured.sync_close = true
          until (state = secured.connect_nonblock(exception: false)).equal?(secured)
            next if wait_for(socket, state, deadline)
            raise IO::TimeoutError, "TLS could not be set up within the time budget"
          end
          done = secured
        ensure
          socket.close unless done
        end

        # Waits as a nonblocking call has asked.
        #
        # @param state [Symbol] :wait_readable or :wait_writable; TLS may need to write before it can read
        # @param deadline [Float, nil] nil for no limit
        # @return [Boolean] false if the deadline came first
        def wait_for(socket, state, deadline)
          io = socket.to_io
          seconds = deadline && Clock.seconds_until(deadline)
          !(state == :wait_writable ? io.wait_writable(seconds) : io.wait_readable(seconds)).nil?
        end

        def with_options(socket)
          socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, true)
          socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_KEEPALIVE, true)
          socket
        end

        # No response is outstanding, so readable bytes mean the end of the connection or a protocol error. Under TLS
        # they may also be a session ticket, which OpenSSL consumes.
        def stale?
          return !@io.wait_readable(0).nil? unless @tls
          @io.read_nonblock(1, exception: false) != :wait_readable
        rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
          true
        end

        def write_rest(request, sent, deadline)
          request = request.b
          loop do
            if sent.is_a?(Integer)
              request = request.byteslice(sent, request.bytesize - sent)
              return if request.empty?
            else
              wait_to_write(sent, deadline)
            end
            sent = @io.write_nonblock(request, exception: false)
          end
        end

        def wait_to_write(state, deadline)
          io = @io.to_io
          readable, = IO.select([io], state == :wait_writable ? [io] : nil, nil,
                                Clock.seconds_until(deadline)) || timed_out
          return if readable.empty?
          chunk = @io.read_nonblock(CHUNK_BYTES, exception: false)
          lost if chunk.nil?
          @buffer << chunk if chunk.is_a?(String)
        end

        # Reads the available bytes, at least one. A response usually begins in an empty buffer, so it is read
        # directly into the buffer. Bytes that have arrived are accepted even after the deadline.
        def fill(deadline, wanted = 0)
          empty = @position >= @buffer.bytesize
          wanted = wanted.clamp(empty ? CHUNK_BYTES : MORE_BYTES, READ_BYTES)
          wait(deadline) if empty && !@tls
          until (chunk = @io.read_nonblock(wanted, empty ? @buffer : @chunk, exception: false)).is_a?(String)
            lost if chunk.nil?
            wait_for(@io, chunk, deadline) || timed_out
          end
          return @position = 0 if empty
          drop_what_was_read
          @buffer << chunk
        rescue Errno::ECONNRESET => error
          raise Lost, error.message
        end

        # @param deadline [Float, nil] nil for no limit
        def wait(deadline) = @io.wait_readable(deadline && Clock.seconds_until(deadline)) || timed_out

        def drop_what_was_read
          @buffer.bytesplice(0, @position, "")
          @position = 0
        end

        def timed_out = raise(IO::TimeoutError, "no reply within the time budget")

        def endless = raise(Garbage, "a line of more than #{self.class::LINE_BYTES} bytes")

        def lost = raise(Lost, "the server closed the connection")
      end
    end
  end
end
