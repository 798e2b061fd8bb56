# frozen_string_literal: true

require "json"
require "rbconfig"
require "socket"

require_relative "conditions"

module Tiercel
  module Lab
    module Network
      # A relay in front of a server that adds distance and faults. It runs in a process of its own. Its address exists
      # before the server starts, and stays when the server restarts.
      class Proxy
        HOST = "127.0.0.1"
        RELAY = File.expand_path("relay_process.rb", __dir__)
        ANSWER_SECONDS = 10
        URL = %r{\A(\w+)://([^@/]*@)?[^/]+(/.*)?\z}

        # @return [Integer] the port to connect to
        attr_reader :port
        # @return [Conditions]
        attr_reader :conditions
        # @return [Integer, nil] pid of the relay
        attr_reader :pid

        # Starts a proxy and stops it after the block.
        #
        # @param server [#host, #port, #socket, #url] one of {Servers}, or an Array of host and port
        # @param conditions [Hash] see {Conditions}
        # @yieldparam proxy [Proxy]
        # @return [Object] the block's value
        def self.run(server, cpu: nil, **conditions)
          proxy = new(server, cpu: cpu, **conditions).start
          yield proxy
        ensure
          proxy&.stop
        end

        # @param server [#host, #port, #socket, #url, Array(String, Integer)]
        # @param cpu [Integer, nil] the only CPU for the relay (Linux)
        # @param conditions [Hash] see {Conditions}
        def initialize(server, cpu: nil, **conditions)
          @server = server
          @cpu = cpu
          @conditions = Conditions.new(**conditions)
        end

        # @return [self]
        def start
          listener = TCPServer.new(HOST, 0)
          @port = listener.addr[1]
          @control, theirs = UNIXSocket.pair
          @control.timeout = ANSWER_SECONDS
          spawn_relay(listener, theirs)
          [listener, theirs].each(&:close)
          change
          self
        end

        # Stops the relay and closes all connections.
        #
        # @return [self]
        def stop
          return self unless @pid && @owner == Process.pid
          order(stop: true)
          @control.close
          Process.wait(@pid)
          @pid = nil
          self
        end

        # Changes some conditions, for open and for new connections.
        #
        # @param changes [Hash] see {Conditions}
        # @return [Conditions] already in force
        def change(**changes)
          @conditions = @conditions.with(**changes)
          order(conditions: @conditions.to_h)
          @conditions
        end

        # Removes all conditions.
        #
        # @return [Conditions]
        def heal
          @conditions = Conditions.new
          change
        end

        # Ends all faults: sends held bytes, and accepts connections. Delay and rate limit stay.
        #
        # @return [Conditions]
        def restore = change(hold: false, garble: false, cut_after: nil, refuse: false, only: nil)

        # Closes connections once. New connections are accepted.
        #
        # @param only [String, nil] closes connections whose client has sent this text, see {Conditions}; nil: all
        # @return [void]
        def cut(only: nil)
          order(cut: true, only: only&.downcase)
          nil
        end

        # Closes open and new connections until {#restore}.
        #
        # @param only [String, nil] as for {#cut}
        # @return [Conditions]
        def sever(only: nil)
          @conditions = @conditions.with(refuse: true, only:)
          order(conditions: @conditions.to_h, cut: true, only: @conditions.only)
          @conditions
        end

        # @return [Integer] open connections
        def connections = order({})[:connections]

        # @return [Integer] connections since the start
        def accepted = order({})[:accepted]

        # @return [Array(Integer, Integer)] number of round trips since the start (a client's request after a server's
        #   reply), and bytes in both directions
        def traffic = order({}).values_at(:round_trips, :bytes)

        # @return [String] "HOST:PORT"
        def address = "#{HOST}:#{port}"

        # @return [String] the server's URL with the proxy's address
        def url
          scheme, user, rest = @server.url.match(URL)&.captures
          return "#{scheme}://#{user}#{address}#{rest}" if scheme
          @server.url.start_with?("unix:") ? "redis://#{address}/0" : "#{@server.url[/\A\w+/]}://#{address}"
        end

        private

        def spawn_relay(listener, control)
          @owner = Process.pid
          pinned = @cpu ? ["taskset", "--cpu-list", @cpu.to_s] : []
          ours = [listener.fileno, control.fileno]
          @pid = Process.spawn(*pinned, RbConfig.ruby, "--disable-gems", RELAY, *ours.map(&:to_s), "tcp", *target,
                               ours[0] => ours[0], ours[1] => ours[1])
        end

        def target
          return @server.map(&:to_s) if @server.is_a?(Array)
          @server.socket ? [@server.socket] : [@server.host, @server.port.to_s]
        end

        def order(message)
          @control.puts(JSON.generate(message))
          JSON.parse(@control.gets, symbolize_names: true)
        end
      end
    end
  end
end
