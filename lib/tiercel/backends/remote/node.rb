# frozen_string_literal: true

require "openssl"
require "socket"

module Tiercel
  module Backends
    module Remote
      autoload :Connection, "tiercel/backends/remote/connection"
      autoload :Dial, "tiercel/backends/remote/dial"
      autoload :Exchange, "tiercel/backends/remote/exchange"
      autoload :TLSContext, "tiercel/backends/remote/tls_context"

      # One server: its connections, its time budget, and the translation of socket errors to {BackendError}s.
      class Node
        # The server answered and refused the command.
        class Refusal < StandardError; end

        # Errors of sockets, name resolution and TLS. A Timeout::Error comes from the caller's own Timeout.
        NETWORK_ERRORS = [IOError, SystemCallError, SocketError, OpenSSL::SSL::SSLError].freeze
        TIMEOUTS = [IO::TimeoutError, Errno::ETIMEDOUT].freeze

        @logs = {}
        @lock = Mutex.new

        # The log of a server: one line when its breaker opens, and one when the server answers again. All stores of the
        # process share this log, so it uses the common logger of all stores, or Rails' logger.
        #
        # @param name [String] the server's name, without its password
        # @return [GuardLog]
        def self.log_of(name)
          @lock.synchronize do
            @logs[name] ||= GuardLog.new(name, lambda {
              ActiveSupport::Cache::Store.logger if defined?(ActiveSupport::Cache::Store)
            }, Clock.method(:monotonic))
          end
        end

        # @return [String] "memcached://HOST:PORT"
        attr_reader :name

        # @param name [String] for errors and the log
        # @param timeout [Float] seconds for one call
        # @param pool [Hash] see {Options.values}
        # @param breaker [Breaker, nil] this server's breaker, if there are several servers
        # @yieldreturn [Connection]
        def initialize(name, timeout:, pool:, breaker: nil, &connect)
          @name = name
          @timeout = timeout
          @breaker = breaker
          @log = Node.log_of(name) if breaker
          @connect = connect
          @pool = Pool.new(**pool, &connect)
        end

        # Runs the block with a connection: see {Connection#use}.
        #
        # @param key [String, nil] the key, for errors
        # @param resend [Boolean] whether the block's request may be sent twice
        # @param deadline [Float] a time of {Clock.monotonic}
        # @param wait [Boolean] whether to wait if all connections are in use
        # @yieldparam connection [Connection]
        # @yieldparam deadline [Float]
        # @return [Object] the block's value
        # @raise [BackendError]
        def call(key, resend: true, deadline: Clock.monotonic + @timeout, wait: true, &)
          skip(key) if @breaker && !@breaker.allow?
          result = @pool.with(deadline, wait: wait) { |connection| connection.use(deadline, resend: resend, &) }
          succeeded if @breaker
          result
        rescue *NETWORK_ERRORS => error
          failed(error) if @breaker
          raise failure(error, key)
        rescue Pool::Exhausted => error
          raise PoolExhausted.new(error.message, backend: @name, key: key)
        rescue Refusal => error
          succeeded if @breaker # a refusal proves that the server is up
          raise Refused.new(error.message, backend: @name, key: key)
        end

        # @return [Connection] a connection outside the pool; the caller closes it
        def connection = @connect.call

        # @return [Float] the time of {Clock.monotonic} at which the budget of a call that begins now ends
        def deadline = Clock.monotonic + @timeout

        # @param error [StandardError] one of {NETWORK_ERRORS}
        # @param key [String, nil]
        # @return [Unavailable] the error to raise
        def failure(error, key = nil)
          type = TIMEOUTS.any? { |timeout| timeout === error } ? TimedOut : Unavailable
          type.new("#{error.class}: #{error.message}", backend: @name, key: key)
        end

        # @return [Boolean] false if the last call is known to have failed
        def answering? = !@breaker&.failing?

        # @return [void]
        def close = @pool.close

        # Replaces all connections: see {Pool#renew}.
        #
        # @return [void]
        def renew = @pool.renew

        private

        def succeeded
          @breaker.succeeded
          @log.closed if @log.open?
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
      # A connection connects on its first use. It responds to `clean?` (whether no reply is outstanding) and `close`.
      # An error, Timeout or Thread#kill can interrupt a call before its reply. The pool then closes the connection, so
      # that the reply reaches no other caller.
      # A forked child begins without connections. It drops its parent's connections and sends nothing to the server.
      class Pool
        # No connection became free in time. A backend raises a {PoolExhausted} instead.
        class Exhausted < StandardError; end

        # Number of idle connections that a pool without a limit keeps.
        UNLIMITED_IDLE = 5
        # For Thread.handle_interrupt: delays Timeout and Thread#kill until the block has ended.
        LATER = { Object => :never }.freeze
        WHERE_IT_WAITS = { Object => :on_blocking }.freeze
        private_constant :LATER, :WHERE_IT_WAITS

        # @return [Integer, nil] most connections, nil for no limit
        attr_reader :size

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
        # @param deadline [Float] a time of {Clock.monotonic}
        # @param wait [Boolean] whether to wait for a free connection. A caller that holds a connection of another pool
        #   passes false, because two such callers could wait for each other
        # @yieldparam connection [Object]
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
        #
        # @return [void]
        def renew
          start unless @process == Forks.current
          @era += 1
          close
        end

        # Closes the idle connections. The next call opens new ones.
        #
        # @return [void]
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
        # the queue afterwards. So at least one of the two sees the other.
        def wait_for_one(deadline)
          place = Thread::Queue.new
          @lock.synchronize { @waiters.push(place) }
          serve
          now = Clock.monotonic
          seconds = [[now + @timeout, deadline].min - now, 0].max
          connection = place.pop(timeout: seconds) || leave(place) || exhausted
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

        def exhausted
          raise Exhausted, "none of #{@size} connections came free in time; pool: { size:, timeout: } sets how " \
                           "many there are"
        end
      end
    end
  end
end
