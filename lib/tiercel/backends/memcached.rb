# frozen_string_literal: true

module Tiercel
  module Backends
    # One or more memcached servers (1.6 and later; tested with 1.6.18).
    #
    #   memcached://10.0.0.1:11211
    #   memcached://10.0.0.1:11211,10.0.0.2:11211:2      # a ring; the last number is a weight
    #   memcached:/var/run/memcached.sock
    #
    # Bytes are sent unchanged, with flags 0. A value that exceeds the server's limit raises {Refused}, and the key's
    # old entry is gone. Tokens are the server's cas numbers ({Token}). TTLs are rounded up to whole seconds.
    class Memcached < Backend
      autoload :Connection, "tiercel/backends/memcached/protocol"
      autoload :Counters, "tiercel/backends/memcached/counters"
      autoload :KeyDump, "tiercel/backends/memcached/key_dump"
      autoload :Multi, "tiercel/backends/memcached/multi"
      autoload :Protocol, "tiercel/backends/memcached/protocol"
      autoload :Ring, "tiercel/backends/memcached/ring"
      autoload :TLS, "tiercel/backends/memcached/tls"
      autoload :Token, "tiercel/backends/memcached/protocol"
      autoload :WireKey, "tiercel/backends/memcached/wire_key"

      # memcached interprets a larger number as a date.
      RELATIVE_TTL_MAX = 30 * 86_400
      # The last date that memcached's signed 32 bits can represent; an entry with a later expiry never expires.
      LAST_DATE = (2**31) - 1
      DELETE_ATTEMPTS = 3
      DEFAULT_SERVER = "127.0.0.1:11211"
      STATS = { entries: "curr_items", bytes: "bytes", hits: "get_hits", misses: "get_misses",
                evictions: "evictions", connections: "curr_connections", limit_bytes: "limit_maxbytes" }.freeze

      # @return [Array<Symbol>]
      def self.option_names = Options.of(:memcached)

      # @param url [BackendURL]
      # @param options [Hash]
      # @option options [Numeric] :timeout time budget of one call in seconds (0.25)
      # @option options [Numeric] :connect_timeout maximum part of it for connecting, in seconds
      # @option options [Hash, Integer, false] :pool size and timeout (5, 5 s); false for no limit
      # @option options [Boolean, OpenSSL::SSL::SSLContext] :ssl true for TLS with the machine's certificates
      # @option options [Hash] :ssl_params parameters for OpenSSL::SSL::SSLContext#set_params
      # @return [Memcached]
      # @raise [ConfigurationError]
      def self.build(url, options = {}) = new(servers(url), **options)

      def self.servers(url)
        place = url.place
        if place.include?("@")
          raise ConfigurationError, "#{url}: memcached has no users; expected memcached://HOST:PORT[,HOST:PORT]"
        end
        servers = place.split(",").map(&:strip).reject(&:empty?)
        BackendURL.check_ports(url, servers.reject { |server| server.include?("/") })
        if (weightless = servers.find { |server| server.match?(/:0+\z/) })
          raise ConfigurationError, "#{url}: weight of #{weightless}: expected an Integer of at least 1"
        end
        servers.empty? ? [DEFAULT_SERVER] : servers
      end
      private_class_method :servers

      # @param servers [Array<String>] "HOST:PORT[:WEIGHT]" or paths of sockets
      # @param options [Hash] see {.build}
      # @raise [ConfigurationError]
      def initialize(servers, **options)
        super()
        settings = settings(options)
        @timeout = settings[:timeout]
        @ring = Ring.new(servers) do |server|
          name = server.port ? "memcached://#{server.name}" : "memcached:#{server.name}"
          Remote::Node.new(name, **settings.except(:socket), breaker: servers.size > 1 ? Breaker.new : nil) do
            Connection.new(server.host, server.port, **settings[:socket])
          end
        end
        @only = @ring.nodes.first if @ring.nodes.size == 1
        @name = @ring.nodes.map(&:name).join(",").gsub(",memcached://", ",").freeze
      rescue ArgumentError => error
        raise if error.is_a?(ConfigurationError)
        raise ConfigurationError, "memcached: #{error.message}; expected HOST:PORT[:WEIGHT] or a socket's path, " \
                                  "got #{Redacted.text(servers)}"
      end

      def get(key)
        wire_key = WireKey.encode(key)
        node(wire_key).call(key) { |connection, deadline| Protocol.get(connection, wire_key, deadline) }
      end

      def last_read = Thread.current[Protocol::LAST_READ]

      def forget_last_read
        Thread.current[Protocol::LAST_READ] = nil
      end

      def token_shown(_bytes, last_read, index = 0)
        line = last_read.is_a?(Array) ? last_read[index] : last_read
        line && Token.of(line)
      end

      def get_with_token(key)
        wire_key = WireKey.encode(key)
        bytes, line = node(wire_key).call(key) do |connection, deadline|
          Protocol.get_with_details(connection, wire_key, deadline)
        end
        [bytes, Token.of(line)] if bytes
      end

      def set(key, bytes, ttl = nil)
        wire_key = WireKey.encode(key)
        node(wire_key).call(key) do |connection, deadline|
          answer = Protocol.set(connection, wire_key, bytes, wire_ttl(ttl), deadline)
          next answer == :stored unless answer == :too_large
          Protocol.delete(connection, wire_key, deadline)
          raise Protocol::ServerError, too_large(bytes)
        end
      end

      def add(key, bytes, ttl = nil) = conditional_set(key, bytes, ttl, mode: :add)

      def add_or_get(key, bytes, ttl = nil)
        wire_key = WireKey.encode(key)
        answer, present, line = node(wire_key).call(key, resend: false) do |connection, deadline|
          Protocol.add_or_get(connection, wire_key, bytes, wire_ttl(ttl), deadline)
            .tap { |stored,| raise Protocol::ServerError, too_large(bytes) if stored == :too_large }
        end
        return true if answer == :stored
        present ? [present, Token.of(line)] : get_with_token(key)
      end

      def look(key)
        wire_key = WireKey.encode(key)
        bytes, line = node(wire_key).call(key) do |connection, deadline|
          Protocol.get_with_details(connection, wire_key, deadline)
        end
        found(bytes, line) if bytes
      end

      def occupy(key, bytes, ttl = nil, token = nil)
        wire_key = WireKey.encode(key)
        present, line = node(wire_key).call(key) do |connection, deadline|
          Protocol.claim(connection, wire_key, bytes, wire_ttl(ttl), token, deadline)
        end
        found(present, line) if present
      end

      def occupies_at_once? = true

      def occupy_multi(pairs, ttl = nil, tokens = {})
        return {} if pairs.empty?
        multi.claim(pairs, wire_ttl(ttl), tokens).transform_values { |bytes, line| found(bytes, line) }
      end

      def compare_and_set_multi(changes, ttl = nil)
        changes.empty? ? [] : multi.compare_and_set(changes, wire_ttl(ttl))
      end

      def compare_and_set(key, bytes, token, ttl = nil) = conditional_set(key, bytes, ttl, token: token)

      def delete(key)
        wire_key = WireKey.encode(key)
        node(wire_key).call(key) { |connection, deadline| Protocol.delete(connection, wire_key, deadline) }
      end

      def touch(key, ttl)
        wire_key = WireKey.encode(key)
        node(wire_key).call(key) do |connection, deadline|
          Protocol.touch(connection, wire_key, wire_ttl(ttl), deadline)
        end
      end

      def increment(key, amount = 1, ttl = nil)
        wire_key = WireKey.encode(key)
        Counters.new(node(wire_key), key, wire_key).add(Counter.in_range(amount, key), wire_ttl(ttl))
      end

      def get_multi(keys) = keys.empty? ? {} : multi.get(keys)

      def set_multi(pairs, ttl = nil) = pairs.empty? || multi.set(pairs, wire_ttl(ttl))

      def delete_multi(keys) = keys.empty? ? 0 : multi.delete(keys)

      # Two trips to each server. A frame that changes in between is read again.
      def delete_frames(keys)
        at_nodes = @ring.group(keys.map { |key| WireKey.encode(key) }).each_value.map { |at| keys.values_at(*at) }
        at_nodes.each_with_object({}) do |left, failed|
          DELETE_ATTEMPTS.times { left = delete_frames_of(left) unless left.empty? }
          left.each do |key|
            failed[key] = Refused.new("it changed during each attempt to delete it", backend: @name, key:)
          end
        rescue BackendError => error
          left.each { |key| failed[key] = error }
        end
      end

      # Omits keys that were too long for memcached, because the server stores only their digests.
      def scan(prefix = nil)
        return enum_for(:scan, prefix) unless block_given?
        each_wire_key(prefix) do |wire_key|
          key = WireKey.decode(wire_key)
          yield key if key
        end
      end

      # With a prefix: lists the keys and deletes the matching ones, including keys stored as digests.
      def clear(prefix = nil)
        return clear_all unless prefix
        enum_for(:each_wire_key, prefix).each_slice(1_000) { |wire_keys| multi.delete(wire_keys, encoded: true) }
      end

      def stats
        of_nodes = server_stats.values
        sums = STATS.transform_values { |name| of_nodes.sum { |stats| stats[name].to_i } }
        sums.merge(version: of_nodes.map { |stats| stats["version"] }.uniq.join(", "))
      end

      # @private
      # @return [Hash{String => Hash{String => String}}] each server's stats, by its name
      def server_stats
        deadline = Clock.monotonic + @timeout
        @ring.nodes.to_h { |node| [node.name, node.call(nil, deadline:) { |*call| Protocol.stats(*call) }] }
      end

      def close = @ring.nodes.each(&:close)

      def to_s = @name
      def several_servers? = @only.nil?
      def answers_elsewhere? = @only.nil? && @ring.nodes.any?(&:answering?)

      def remote? = true

      private

      def node(wire_key) = @only || @ring.node_for(wire_key)

      def multi = Multi.new(@ring, @timeout)

      # memcached's clock ticks once a second, so the remaining TTL may be one second too long.
      def found(bytes, line)
        left = Protocol.number(line, " t")
        [bytes, Token.of(line), left.nil? || left.negative? ? nil : left + 1.0]
      end

      # @return [Array<String>] the keys whose frames are still there
      def delete_frames_of(keys)
        found = get_multi(keys)
        lines = last_read
        changes = keys.each_with_index.filter_map do |key, index|
          next unless (bytes = found[key]) && Frame.replaceable?(bytes)
          [key, [Frame::EXPIRED, token_shown(bytes, lines, index)]]
        end
        changes.map(&:first) - compare_and_set_multi(changes.to_h, EXPIRED_TTL)
      end

      def conditional_set(key, bytes, ttl, **condition)
        wire_key = WireKey.encode(key)
        node(wire_key).call(key, resend: false) do |connection, deadline|
          answer = Protocol.set(connection, wire_key, bytes, wire_ttl(ttl), deadline, **condition)
          raise Protocol::ServerError, too_large(bytes) if answer == :too_large
          answer == :stored
        end
      end

      def too_large(bytes)
        "#{Sizes.human(bytes.bytesize)} are more than the server takes in one value (its option -I); nothing is stored"
      end

      def clear_all
        deadline = Clock.monotonic + @timeout
        @ring.nodes.each { |node| node.call(nil, deadline:) { |*call| Protocol.flush_all(*call) } }
        nil
      end

      def each_wire_key(prefix, &) = @ring.nodes.each { |node| KeyDump.new(node).each(prefix, &) }

      # Expiry uses the server's clock, not {Clock}; tests that move Ruby's time do not affect it.
      def wire_ttl(ttl)
        return 0 unless ttl
        seconds = ttl.ceil
        return seconds if seconds <= RELATIVE_TTL_MAX
        ends_at = Process.clock_gettime(Process::CLOCK_REALTIME, :second) + seconds
        ends_at <= LAST_DATE ? ends_at : 0
      end

      def settings(options)
        given = Options.values(:memcached, options)
        socket = { **given.slice(:connect_timeout), tls: TLS.context(options) }.compact
        { **given.slice(:timeout, :pool), socket: }
      end
    end
  end
end
