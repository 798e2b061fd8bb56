# frozen_string_literal: true

module Tiercel::Lab
  module Network
    # One direction of a connection. A lane keeps the bytes that it has read until it is time to send them.
    class Lane
      # Maximum number of bytes of one read.
      CHUNK_BYTES = 65_536
      # A lane with more waiting bytes stops reading, so that the sender notices the congestion.
      FULL_BYTES = 4 * 1024 * 1024

      # @return [IO]
      attr_reader :source, :sink
      # @return [Integer] bytes sent to the sink so far
      attr_reader :sent_bytes

      # @param source [IO]
      # @param sink [IO]
      def initialize(source, sink)
        @source = source
        @sink = sink
        @waiting = []
        @waiting_bytes = 0
        @sent_bytes = 0
        @ended = false
      end

      # @return [Boolean] whether to read from the source
      def reading? = !@ended && @waiting_bytes < FULL_BYTES

      # @return [Boolean] whether the source has ended and everything is sent
      def over? = @ended && @waiting.empty?

      # @return [Boolean] whether bytes wait to be sent
      def waiting? = !@waiting.empty?

      # @return [Boolean] whether bytes are due
      def due?(now) = !@waiting.empty? && @waiting.first.first <= now

      # @return [Float, nil] when the next bytes are due
      def due_at = @waiting.first&.first

      # Reads from the source, and computes when the bytes are due.
      #
      # @param now [Float] seconds of the monotonic clock
      # @param delay [Float] seconds
      # @yieldparam bytes [String] the bytes read
      # @return [Integer] bytes taken
      def take(now, delay)
        bytes = @source.read_nonblock(CHUNK_BYTES, exception: false)
        return ended if bytes.nil?
        return 0 if bytes.is_a?(Symbol)
        yield bytes if block_given?
        @waiting << [now + delay, bytes]
        @waiting_bytes += bytes.bytesize
        bytes.bytesize
      rescue SystemCallError, IOError
        ended
      end

      # Drops waiting bytes and stops reading, because the receiver is gone.
      #
      # @return [void]
      def abandon
        @ended = true
        @waiting.clear
        @waiting_bytes = 0
      end

      # Sends the bytes that are due.
      #
      # @param now [Float]
      # @param limit [Integer, nil] most bytes
      # @yieldparam bytes [String] the next bytes
      # @yieldreturn [String] bytes to send in their place, of the same length
      # @return [void]
      # @raise [SystemCallError, IOError] if the sink is gone
      def give(now, limit = nil)
        while due?(now) && limit != 0
          due_at, bytes = @waiting.first
          bytes = bytes.byteslice(0, limit) if limit
          sent = @sink.write_nonblock(block_given? ? yield(bytes) : bytes, exception: false)
          return if sent.is_a?(Symbol)
          limit -= sent if limit
          sent(due_at, sent)
        end
      end

      private

      # @return [Integer] bytes taken
      def ended
        @ended = true
        0
      end

      def sent(due_at, count)
        @sent_bytes += count
        @waiting_bytes -= count
        bytes = @waiting.shift.last
        @waiting.unshift([due_at, bytes.byteslice(count..)]) if count < bytes.bytesize
      end
    end

    # A connection through the relay: its two lanes and its conditions.
    class Route
      # Number of a client's first bytes that the route remembers.
      SAID_BYTES = 4_096
      # The conditions of connections that `only` does not select.
      PLAIN = Conditions.new

      # @return [Lane]
      attr_reader :requests, :replies

      # @param client [IO]
      # @param server [IO]
      # @param conditions [Conditions]
      def initialize(client, server, conditions)
        @requests = Lane.new(client, server)
        @replies = Lane.new(server, client)
        @said = +"".b
        @asking = false
        adopt(conditions)
      end

      # @return [Array<Lane>]
      def lanes = [requests, replies]

      # @return [Array<Lane>] the lanes that are not held
      def open_lanes
        open = []
        open << requests unless conditions.hold_requests?
        open << replies unless conditions.hold_replies?
        open
      end

      # @param text [String, nil] text in lower case; nil: any
      # @return [Boolean] whether the client has sent it
      def said?(text) = text.nil? || @said.include?(text)

      # @return [Conditions] the conditions of this connection
      def conditions = said?(@conditions.only) ? @conditions : PLAIN

      # @param conditions [Conditions] the new ones
      # @return [void]
      def adopt(conditions)
        @conditions = conditions
        @cut_at = conditions.cut_after && (replies.sent_bytes + conditions.cut_after)
      end

      # Reads from one side.
      #
      # @param lane [Lane]
      # @param now [Float]
      # @return [Array(Integer, Boolean)] number of bytes, and whether they begin a round trip
      def take(lane, now)
        asks = lane.equal?(requests)
        bytes = lane.take(now, conditions.delay / 2.0) { |text| heard(text) if asks }
        return [0, false] if bytes.zero?
        begins = asks && !@asking
        @asking = asks
        [bytes, begins]
      end

      # Sends the bytes that are due, both ways.
      #
      # @param now [Float]
      # @return [void]
      # @raise [SystemCallError, IOError] if the server is gone
      def give(now)
        requests.give(now) unless conditions.hold_requests?
        give_replies(now) unless conditions.hold_replies?
      end

      # @return [Boolean] whether both lanes have ended; held requests do not count as ended
      def over?
        return true if requests.over? || cut?
        replies.over? && !requests.waiting?
      end

      # @return [void]
      def close = [requests.source, replies.source].each(&:close)

      private

      def heard(text)
        @said << text.byteslice(0, SAID_BYTES - @said.bytesize).downcase if @said.bytesize < SAID_BYTES
      end

      def give_replies(now)
        limit = cut_at && (cut_at - replies.sent_bytes)
        garble = method(:garbled) if conditions.garble
        replies.give(now, limit, &garble)
      rescue SystemCallError, IOError
        raise unless requests.waiting? # a client's last bytes may still be in the connection
        replies.abandon
      end

      def cut_at = conditions.cut_after && @cut_at

      def cut? = !cut_at.nil? && replies.sent_bytes >= cut_at

      # Changes every byte, but never to a digit or a line end.
      def garbled(bytes) = bytes.bytes.map { |byte| ((byte ^ 0x5A) | 0x80).chr }.join.b
    end

    # The proxy's process: one loop over all connections. In a process of its own it shares neither lock nor scheduler
    # with the measured client.
    #
    # The process receives new {Conditions} over a control socket as JSON lines, answers each line, and ends when the
    # parent closes the socket.
    class Relay
      # Longest wait of a turn, in seconds.
      TURN_SECONDS = 1.0

      # @param listener [TCPServer, UNIXServer]
      # @param target [Array] [:tcp, host, port] or [:unix, path]
      # @param control [Socket]
      def initialize(listener, target, control)
        @listener = listener
        @target = target
        @control = control
        @conditions = Conditions.new
        @routes = []
        @new = {}.compare_by_identity # routes that opened while connections were refused
        @round_trips = 0
        @bytes = 0
      end

      # @return [void] after the control socket has closed
      def run
        @running = true
        turn while @running
      ensure
        @routes.each(&:close)
        @listener.close
      end

      private

      def turn
        ready, = IO.select(sources, blocked_sinks, nil, seconds_to_wait)
        now = monotonic
        obey if ready&.include?(@control)
        accept if ready&.include?(@listener)
        @routes.dup.each { |route| serve(route, ready || [], now) }
      end

      def sources
        [@control, @listener] + @routes.flat_map { |route| route.lanes.select(&:reading?).map(&:source) }
      end

      def blocked_sinks
        now = monotonic
        @routes.flat_map { |route| route.open_lanes.select { |lane| lane.due?(now) }.map(&:sink) }
      end

      def seconds_to_wait
        due_at = @routes.flat_map { |route| route.open_lanes.filter_map(&:due_at) }.min
        due_at ? (due_at - monotonic).clamp(0, TURN_SECONDS) : TURN_SECONDS
      end

      def serve(route, ready, now)
        route.lanes.each { |lane| take(route, lane, now) if lane.reading? && ready.include?(lane.source) }
        return drop(route) if refused?(route)
        route.give(now)
        drop(route) if route.over?
      rescue SystemCallError, IOError
        drop(route)
      end

      def take(route, lane, now)
        bytes, begins = route.take(lane, now)
        @bytes += bytes
        @round_trips += 1 if begins
      end

      # Returns whether the connection is new and must be closed, because its client has now sent the text.
      def refused?(route) = @conditions.refuse && @new.key?(route) && route.said?(@conditions.only)

      def drop(route)
        @routes.delete(route)
        @new.delete(route)
        route.close
      end

      def accept
        client = @listener.accept_nonblock(exception: false)
        return if client.is_a?(Symbol)
        return client.close if @conditions.refuse && !@conditions.only
        server = @target.first == :unix ? UNIXSocket.new(@target[1]) : TCPSocket.new(*@target.drop(1))
        [client, server].each { |socket| at_once(socket) }
        route = Route.new(client, server, @conditions)
        @new[route] = true if @conditions.refuse
        @routes << route
      rescue SystemCallError
        client&.close
      end

      def at_once(socket)
        socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if socket.is_a?(TCPSocket)
      end

      def obey
        line = @control.gets
        return @running = false unless line
        order = JSON.parse(line, symbolize_names: true)
        adopt(Conditions.new(**order[:conditions])) if order[:conditions]
        cut(order[:only]) if order[:cut]
        @running = false if order[:stop]
        @control.puts(JSON.generate(connections: @routes.size, round_trips: @round_trips,
                                    bytes: @bytes))
      end

      def cut(only) = @routes.select { |route| route.said?(only) }.each { |route| drop(route) }

      def adopt(conditions)
        @conditions = conditions
        @new.clear unless conditions.refuse
        @routes.each { |route| route.adopt(conditions) }
      end

      def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
