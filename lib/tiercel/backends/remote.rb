# frozen_string_literal: true

require "io/nonblock"
require "io/wait"
require "openssl"
require "socket"

module Tiercel
  # The code that memcached and Redis share: a server ({Node}) with a {Pool} of {Connection}s, and one trip to several
  # servers ({Exchange}).
  module Backends::Remote
    autoload :Dial, "tiercel/backends/remote/dial"
    autoload :Exchange, "tiercel/backends/remote/exchange"
    autoload :TLSContext, "tiercel/backends/remote/dial"

    # One server: its connections, its time budget, and the translation of socket errors to {BackendError}s.
    class Node
      # The server answered and refused the command.
      class Refusal < StandardError
        # @return [BackendError]
        def translated(backend, key) = Refused.new(message, backend:, key:)

        # @return [Boolean] whether the key is a miss in a read of many keys
        def miss? = false
      end

      # Errors of sockets, name resolution and TLS. A Timeout::Error comes from the caller's own Timeout.
      NETWORK_ERRORS = [IOError, SystemCallError, SocketError, OpenSSL::SSL::SSLError].freeze
      TIMEOUTS = [IO::TimeoutError, Errno::ETIMEDOUT].freeze

      # A server's log uses the common logger of all stores, or Rails' logger.
      LOGGER = -> { ActiveSupport::Cache::Store.logger if defined?(ActiveSupport::Cache::Store) }
      private_constant :TIMEOUTS, :LOGGER

      # @return [String] "memcached://HOST:PORT"
      attr_reader :name

      # @param name [String] for errors and the log
      # @param timeout [Float] seconds for one call
      # @param pool [Hash] see {Options.values}
      # @param breaker [Breaker, nil] this server's breaker, if there are several servers. The log has one line when it
      #   opens, and one when the server answers again
      def initialize(name, timeout:, pool:, breaker: nil, &connect)
        @name = name
        @timeout = timeout
        @breaker = breaker
        @log = GuardLog.new(name, LOGGER, Clock.method(:monotonic)) if breaker
        @pool = Pool.new(**pool, &connect)
      end

      # Runs the block with a connection: see {Connection#use}.
      #
      # @param resend [Boolean] whether the block's request may be sent twice
      # @param wait [Boolean] whether to wait if all connections are in use
      # @return [Object] the block's value
      def call(key, resend: true, deadline: Clock.monotonic + @timeout, wait: true, &)
        skip(key) if @breaker && !@breaker.allow?
        result = @pool.with(deadline, wait: wait) { |connection| connection.use(deadline, resend: resend, &) }
        answered if @breaker&.failing?
        result
      rescue *NETWORK_ERRORS => error
        failed(error) if @breaker
        type = TIMEOUTS.any? { |timeout| timeout === error } ? TimedOut : Unavailable
        raise type.new("#{error.class}: #{error.message}", backend: @name, key: key)
      rescue Pool::Exhausted => error
        raise PoolExhausted.new(error.message, backend: @name, key: key)
      rescue Refusal => error
        answered if @breaker&.failing? # a refusal proves that the server is up
        raise error.translated(@name, key)
      end

      # @return [Boolean] false if the last call is known to have failed
      def answering? = !@breaker&.failing?

      def close = @pool.close

      # Replaces all connections: see {Pool#renew}.
      def renew = @pool.renew

      private

      def answered
        @breaker.succeeded
        @log.closed
      end

      def failed(error)
        @breaker.failed
        @log.opened(error) if @breaker.open?
      end

      def skip(key)
        @log.skipped
        raise BreakerOpen.quick("call skipped: the server failed and is in its cool-down", backend: @name, key: key)
      end
    end

    # The connections of one backend to one server. The most recently used connection is lent first. Callers that wait
    # for a connection get one in the order of their arrival.
    #
    # Every call uses the pool. A checkout takes 0.3 us; with the gem connection_pool it takes 2 us, and new callers
    # overtake waiting ones (adr/006). Taking and returning a connection are single Array operations, which are atomic
    # in CRuby. Only callers that have to wait acquire the lock.
    # A connection connects on its first use. A connection responds to `clean?` (whether no reply is outstanding) and
    # `close`. An error, Timeout or Thread#kill can interrupt a call before its reply. The pool then closes the
    # connection, so that the reply reaches no other caller.
    # A forked child begins without connections. The child drops its parent's connections and sends nothing to the
    # server.
    class Pool
      # No connection became free in time. A backend raises a {PoolExhausted} instead.
      class Exhausted < StandardError; end

      # Number of idle connections that a pool without a limit keeps.
      UNLIMITED_IDLE = 5
      # For Thread.handle_interrupt: delays Timeout and Thread#kill until the block has ended.
      LATER = { Object => :never }.freeze
      WHERE_IT_WAITS = { Object => :on_blocking }.freeze
      private_constant :LATER, :WHERE_IT_WAITS

      # @param size [Integer, nil] most connections, nil for no limit
      # @param timeout [Numeric] seconds to wait for a free connection; the wait also ends at the call's deadline
      # @yieldreturn [#clean?, #close] a new connection; must not block
      def initialize(size:, timeout:, &create)
        @size = size
        @timeout = timeout
        @create = create
        start
      end

      # Lends a connection for the block.
      #
      # @param wait [Boolean] whether to wait for a free connection. A caller that holds a connection of another pool
      #   passes false, because two such callers could wait for each other
      # @return [Object] the block's value
      # @raise [Exhausted] if no connection became free in time
      def with(deadline, wait: true)
        start unless @process == Forks.current
        connection = nil
        era = @era
        begin
          # CRuby checks for interrupts at branches and at method returns. Neither may occur between `pop` and the
          # assignment, or between the end of the block and the mask. An interrupt there would lose a connection.
          connection = @idle.pop if @waiters.empty?
          unless connection
            Thread.handle_interrupt(WHERE_IT_WAITS) { connection = wait_for_one(wait ? deadline : 0) }
          end
          yield connection
        ensure
          Thread.handle_interrupt(LATER) { give_back(connection, era) }
        end
      end

      # Replaces all connections: closes the idle ones now, and the others when their callers return them.
      def renew
        @era += 1
        close
      end

      # Closes the idle connections. The next call opens new ones.
      def close
        start unless @process == Forks.current
        while (connection = @idle.pop)
          discard(connection)
        end
      end

      # @return [Integer] connections that exist, in use or not
      def count = @count

      private

      def start
        @idle = []
        @era = 0
        @count = 0
        @waiters = []
        @lock = Mutex.new
        @process = Forks.current
      end

      # A waiter joins the queue before it looks for an idle connection. A caller that returns a connection looks at
      # the queue afterwards. So the waiter finds the connection, or the caller finds the waiter.
      def wait_for_one(deadline)
        place = Thread::Queue.new
        @lock.synchronize { @waiters.push(place) }
        serve
        now = Clock.monotonic
        seconds = [[now + @timeout, deadline].min - now, 0].max
        connection = place.pop(timeout: seconds) || leave(place) ||
                     raise(Exhausted, "none of #{@size} connections came free in time; pool: { size:, timeout: } " \
                                      "sets how many there are")
      ensure
        # If an interrupt ended the wait, passes a connection that has just arrived to the next waiter.
        Thread.handle_interrupt(LATER) { give_back(leave(place)) } unless connection
      end

      def leave(place)
        @lock.synchronize { @waiters.delete(place) }
        place.pop(true) unless place.empty?
      end

      # Serves the waiters in the order of their arrival.
      def serve
        @lock.synchronize do
          while !@waiters.empty? && (connection = @idle.pop || create)
            @waiters.shift.push(connection)
          end
        end
      end

      def create
        return if @size && @count >= @size
        connection = @create.call
        @count += 1
        connection
      end

      # A closed connection goes to the end of the list from which connections are lent last. The next caller then
      # gets a working connection if there is one.
      def give_back(connection, era = @era)
        return unless connection
        clean = connection.clean? && era == @era
        connection.close unless clean
      ensure
        keep(connection, clean) if connection
      end

      def keep(connection, clean)
        return discard(connection) if @size.nil? && @idle.size >= UNLIMITED_IDLE
        clean ? @idle.push(connection) : @idle.unshift(connection)
        serve unless @waiters.empty?
      end

      def discard(connection)
        @lock.synchronize { @count -= 1 }
        connection.close
      end
    end

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
      # How long a receive may wait in the system call itself. A signal or this time ends it, and Ruby waits then.
      RECEIVE_SECONDS = 0.02
      # The largest -I that memcached accepts, and more than Redis' proto-max-bulk-len.
      VALUE_BYTES = 1024 * 1024 * 1024
      # The maximum length of a response line ("stats settings" prints paths).
      LINE_BYTES = 8 * 1024
      CRLF = "\r\n"

      # @param host [String] a host name, or the path of a Unix socket
      # @param port [Integer, nil] nil for a Unix socket
      # @param connect_timeout [Float, nil] seconds, including TLS
      # @param tls [OpenSSL::SSL::SSLContext, nil]
      def initialize(host, port, connect_timeout: nil, tls: nil)
        @host = host
        @port = port
        @connect_timeout = connect_timeout
        @tls = tls
        @io = nil
        @busy = false
      end

      attr_reader :host

      # @return [Boolean] whether no response is outstanding
      def clean? = !@busy

      # Runs the block, which exchanges requests and responses.
      #
      # A server that restarts or closes idle connections leaves dead ones in the pool. If the connection turns out
      # to be dead, the block runs once more on a new one. A call that must not be sent twice checks the connection
      # first.
      #
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
      # @param verify [Boolean] whether to check first that the server has not closed the connection (costs a system
      #   call); for requests that must not be sent twice
      # @return [Boolean] whether the connection is a new one
      def open(deadline, verify: false)
        return false if @io && !@busy && !(verify && stale?)
        connect(deadline)
        true
      end

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
      def write(request, deadline)
        @busy = true
        sent = @io.write_nonblock(request, exception: false)
        return if sent == request.bytesize
        write_rest(request, sent, deadline)
      rescue Errno::EPIPE, Errno::ECONNRESET => error
        raise Lost, error.message
      end

      # @param line_end [String] CR LF; only metadump's response uses LF
      # @return [String] a response line without its line end
      def read_line(deadline, line_end = CRLF)
        until (at = @buffer.byteindex(line_end, @position))
          too_long = @buffer.bytesize - @position > self.class::LINE_BYTES
          raise Garbage, "a line of more than #{self.class::LINE_BYTES} bytes" if too_long
          fill(deadline)
        end
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

      # @param bytes [Integer] the length of the value
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
        socket = Dial.open(@host, @port, @tls, deadline)
        return socket if @tls
        socket.nonblock = false # every other call says itself that it must not block
        socket.setsockopt(:SOCKET, :RCVTIMEO, [0, (RECEIVE_SECONDS * 1_000_000).to_i].pack("l!2"))
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
        return @position = 0 if empty && !@tls && receive(deadline, wanted)
        until (chunk = @io.read_nonblock(wanted, empty ? @buffer : @chunk, exception: false)).is_a?(String)
          lost if chunk.nil?
          wait(deadline, chunk)
        end
        return @position = 0 if empty
        @buffer.bytesplice(0, @position, "")
        @position = 0
        @buffer << chunk
      rescue Errno::ECONNRESET => error
        raise Lost, error.message
      end

      # Waits for a response and receives it into the empty buffer, in one system call if Ruby has nothing else to do.
      # Otherwise it only waits.
      #
      # @return [Boolean] whether bytes were received
      def receive(deadline, wanted)
        if deadline && deadline - Clock.monotonic > 2 * RECEIVE_SECONDS && Fiber.current_scheduler.nil?
          received = CodecExt.receive(@io, wanted, @buffer)
          return received.empty? ? lost : true if received
        end
        wait(deadline)
        false
      end

      # @param deadline [Float, nil] nil for no limit
      # @param state [Symbol] :wait_readable or :wait_writable; TLS may need to write before it can read
      def wait(deadline, state = :wait_readable)
        io = @io.to_io
        seconds = deadline && Clock.seconds_until(deadline)
        (state == :wait_writable ? io.wait_writable(seconds) : io.wait_readable(seconds)) || timed_out
      end

      def timed_out = raise(IO::TimeoutError, "no reply within the time budget")

      def lost = raise(Lost, "the server closed the connection")
    end
  end
end
