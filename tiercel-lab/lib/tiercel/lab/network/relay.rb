# frozen_string_literal: true

require "json"
require "socket"

require_relative "conditions"
require_relative "lane"

module Tiercel
  module Lab
    module Network
      # The proxy's own process: one loop over all connections, so that a
      # measured client shares neither its lock nor its scheduler with it.
      #
      # It is told new {Conditions} over a control socket, one JSON line each,
      # answers each line, and ends when that socket does: with its parent.
      class Relay
        # A connection through the proxy.
        Route = Struct.new(:requests, :replies, :cut_at, :asking) do
          def sockets = [requests.source, replies.source]
          def close = sockets.each(&:close)
        end

        # Longest wait in one turn (seconds).
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
          @accepted = 0
          @round_trips = 0
          @bytes = 0
        end

        # @return [void] when the control socket ends
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
          [@control, @listener] + @routes.flat_map { |route| lanes(route).select(&:reading?).map(&:source) }
        end

        def blocked_sinks
          now = monotonic
          @routes.flat_map { |route| open_lanes(route).select { |lane| lane.due?(now) }.map(&:sink) }
        end

        def seconds_to_wait
          due_at = @routes.flat_map { |route| open_lanes(route).filter_map(&:due_at) }.min
          due_at ? (due_at - monotonic).clamp(0, TURN_SECONDS) : TURN_SECONDS
        end

        def lanes(route) = [route.requests, route.replies]

        # Those whose bytes may pass.
        def open_lanes(route) = @conditions.hold ? [route.requests] : lanes(route)

        def serve(route, ready, now)
          half = @conditions.delay / 2.0
          lanes(route).each do |lane|
            next unless lane.reading? && ready.include?(lane.source)
            count(route, lane, lane.take(now, half, @conditions.bytes_per_second))
          end
          route.requests.give(now)
          give_replies(route, now) unless @conditions.hold
          drop(route) if lanes(route).any?(&:over?)
        rescue SystemCallError, IOError
          drop(route)
        end

        # A round trip begins when the client speaks after the server did.
        def count(route, lane, bytes)
          return if bytes.zero?
          @bytes += bytes
          asks = lane.equal?(route.requests)
          @round_trips += 1 if asks && !route.asking
          route.asking = asks
        end

        def give_replies(route, now)
          limit = route.cut_at && (route.cut_at - route.replies.sent_bytes)
          garble = method(:garbled) if @conditions.garble
          route.replies.give(now, limit, &garble)
          drop(route) if route.cut_at && route.replies.sent_bytes >= route.cut_at
        end

        # No byte stays what it was, and none becomes part of a number or a line's end.
        def garbled(bytes) = bytes.bytes.map { |byte| ((byte ^ 0x5A) | 0x80).chr }.join.b

        def drop(route)
          @routes.delete(route)
          route.close
        end

        def accept
          client = @listener.accept_nonblock(exception: false)
          return if client.is_a?(Symbol)
          @accepted += 1
          return client.close if @conditions.refuse
          server = @target.first == :unix ? UNIXSocket.new(@target[1]) : TCPSocket.new(*@target.drop(1))
          [client, server].each { |socket| at_once(socket) }
          route = Route.new(Lane.new(client, server), Lane.new(server, client))
          route.cut_at = @conditions.cut_after
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
          @routes.dup.each { |route| drop(route) } if order[:cut]
          @running = false if order[:stop]
          @control.puts(JSON.generate(connections: @routes.size, accepted: @accepted, round_trips: @round_trips,
                                      bytes: @bytes))
        end

        def adopt(conditions)
          @conditions = conditions
          @routes.each do |route|
            route.cut_at = conditions.cut_after && (route.replies.sent_bytes + conditions.cut_after)
          end
        end

        def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
