# frozen_string_literal: true

require_relative "../lab"

module Tiercel::Lab
  # Simulates distance and faults between a client and a server on this machine.
  #
  #   Network::Proxy.run(server, delay: 0.001) do |proxy|
  #     store = Tiercel.new(proxy.url)
  #     proxy.change(hold: true)                     # the server hangs: the proxy keeps replies back
  #     proxy.heal                                   # the proxy sends them
  #     proxy.cut                                    # closes every connection, accepts new ones
  #     proxy.sever                                  # closes new connections too
  #     proxy.heal
  #     proxy.change(hold: :both, only: "subscribe") # blocks the connection that subscribes, in both directions
  #   end
  module Network
    Tiercel::Lab.declare self, "network/relay" => %i[Lane Relay Route]

    # The directions that a proxy can hold back.
    HELD = %w[replies requests both].freeze

    # The effects of a proxy on its traffic:
    #
    # - `delay`: seconds added to a round trip, half of them each way
    # - `hold`: the messages that the proxy delays until the hold ends: :replies (or true), :requests, :both, or
    #   false. The proxy then sends everything in the order of each connection. It keeps up to 4 MB each way; then the
    #   sender waits. Requests reach the server even if their client has disconnected in the meantime
    # - `garble`: changes every byte of the replies
    # - `cut_after`: number of bytes of replies after which a connection is closed; nil: never
    # - `refuse`: closes new connections at once
    # - `only`: limits all effects to connections whose client has sent this text within its first 4 KB, in upper or
    #   lower case, such as "subscribe" or "tracking". With `refuse`, a connection is closed once its client sends the
    #   text. nil: all connections
    Conditions = Data.define(:delay, :hold, :garble, :cut_after, :refuse, :only) do
      # @raise [ArgumentError] for an invalid or negative number
      def initialize(delay: 0.0, hold: false, garble: false, cut_after: nil, refuse: false, only: nil)
        check(:delay, delay, delay.is_a?(Numeric) && delay >= 0, "seconds >= 0")
        check(:cut_after, cut_after, cut_after.nil? || cut_after >= 0, "a number of bytes >= 0 or nil")
        check(:hold, hold, [nil, true, false].include?(hold) || HELD.include?(hold.to_s),
              ":replies, :requests, :both or false")
        check(:only, only, only.nil? || (only.is_a?(String) && !only.empty?), "a text or nil")
        hold = hold == true ? :replies : hold && hold.to_sym
        super(delay:, hold:, garble:, cut_after:, refuse:, only: only&.downcase)
      end

      # @return [Boolean]
      def hold_replies? = %i[replies both].include?(hold)

      # @return [Boolean]
      def hold_requests? = %i[requests both].include?(hold)

      private

      def check(name, value, valid, expected)
        raise ArgumentError, "#{name}: expected #{expected}, got #{value.inspect}" unless valid
      end
    end

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

    # A relay in front of a server that adds distance and faults. The relay runs in a process of its own. Its address
    # exists before the server starts, and stays when the server restarts.
    class Proxy
      HOST = "127.0.0.1"
      RELAY = File.expand_path("network/relay_process.rb", __dir__)
      ANSWER_SECONDS = 60
      URL = %r{\A(\w+)://([^@/]*@)?[^/]+(/.*)?\z}
      # The host and port in a URL.
      PLACE = /[\w.]+:\d+/

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

      # Starts a proxy in front of a server of the lab.
      #
      # @param facts [Hash{String => String}] "url" and "address", see {Engine::ServerPool#facts}
      # @return [Array(Proxy, Hash)] the proxy, and facts that lead to it
      def self.before(facts, **)
        place = facts["url"][PLACE]
        proxy = new(place.split(":"), **).start
        [proxy, facts.slice("address", "url").transform_values { |text| text.sub(place, proxy.address) }]
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

      # Ends all conditions, and sends held bytes.
      #
      # @return [Conditions]
      def heal
        @conditions = Conditions.new
        change
      end

      # Closes connections once. New connections are accepted.
      #
      # @param only [String, nil] closes connections whose client has sent this text, see {Conditions}; nil: all
      # @return [void]
      def cut(only: nil)
        order(cut: true, only: only&.downcase)
        nil
      end

      # Closes open and new connections until {#heal}.
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
