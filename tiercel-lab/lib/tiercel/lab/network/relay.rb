# frozen_string_literal: true

require "json"
require "socket"

require_relative "conditions"
require_relative "route"

module Tiercel
  module Lab
    module Network
      # The proxy's process: one loop over all connections. In a process of its own it shares neither lock nor scheduler
      # with the measured client.
      #
      # It receives new {Conditions} over a control socket as JSON lines, answers each line, and ends when the parent
      # closes the socket.
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
          @new = {}.compare_by_identity # routes since connections are refused
          @accepted = 0
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

        # Whether the connection is new and must be closed, now that its client has sent the text.
        def refused?(route) = @conditions.refuse && @new.key?(route) && route.said?(@conditions.only)

        def drop(route)
          @routes.delete(route)
          @new.delete(route)
          route.close
        end

        def accept
          client = @listener.accept_nonblock(exception: false)
          return if client.is_a?(Symbol)
          @accepted += 1
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
          @control.puts(JSON.generate(connections: @routes.size, accepted: @accepted, round_trips: @round_trips,
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
end
