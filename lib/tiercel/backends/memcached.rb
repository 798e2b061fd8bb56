# frozen_string_literal: true

require "digest"

module Tiercel
  # One or more memcached servers (1.6 and later; tested with 1.6.18).
  #
  #   memcached://10.0.0.1:11211
  #   memcached://10.0.0.1:11211,10.0.0.2:11211:2      # a ring; the last number is a weight
  #   memcached:/var/run/memcached.sock
  #
  # Bytes are sent unchanged, with flags 0. A value that exceeds the server's limit raises {Refused}, and the key's
  # old entry is gone. Tokens are the server's cas numbers ({Token}). TTLs are rounded up to whole seconds.
  class Backends::Memcached < Backend
    autoload :Connection, "tiercel/backends/memcached/connection"
    autoload :KeyDump, "tiercel/backends/memcached/key_dump"
    autoload :Ring, "tiercel/backends/memcached/ring"
    autoload :Token, "tiercel/backends/memcached/connection"

    # memcached interprets a larger number as a date.
    RELATIVE_TTL_MAX = 30 * 86_400
    # The last date that memcached's signed 32 bits can represent; an entry with a later expiry never expires.
    LAST_DATE = (2**31) - 1
    # With a larger amount, the sum could leave the signed range whatever the current count is.
    NATIVE_MAX = 2**32
    # The server's own subtraction, used by other clients, leaves spaces after a number that lost digits.
    PADDING = / +\z/n
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
    # @option options [Boolean] :ssl true for TLS with the machine's certificates
    # @option options [Hash] :ssl_params parameters for OpenSSL::SSL::SSLContext#set_params
    # @return [Memcached]
    # @raise [ConfigurationError]
    def self.build(url, options = {}) = new(servers(url), **options)

    def self.servers(url)
      if url.place.include?("@")
        raise ConfigurationError, "#{url}: memcached has no users; expected memcached://HOST:PORT[,HOST:PORT]"
      end
      servers = url.place.split(",").map(&:strip).reject(&:empty?)
      servers.empty? ? [DEFAULT_SERVER] : servers
    end
    private_class_method :servers

    # @param servers [Array<String>] "HOST:PORT[:WEIGHT]" or paths of sockets
    # @param options [Hash] see {.build}
    # @raise [ConfigurationError]
    def initialize(servers, **options)
      super()
      options = Options.values(:memcached, options)
      @timeout, pool, connect_timeout = options.values_at(:timeout, :pool, :connect_timeout)
      with_tls = options[:ssl].nil? ? options[:ssl_params] : options[:ssl]
      tls = Backends::Remote::TLSContext.build(options[:ssl_params]) if with_tls
      @ring = Ring.new(servers) do |server|
        name = server.port ? "memcached://#{server.name}" : "memcached:#{server.name}"
        breaker = Breaker.new if servers.size > 1
        Backends::Remote::Node.new(name, timeout: @timeout, pool:, breaker:) do
          Connection.new(server.host, server.port, connect_timeout:, tls:)
        end
      end
      @only = @ring.nodes.first if @ring.nodes.size == 1
      @name = @ring.nodes.map(&:name).join(",").gsub(",memcached://", ",").freeze
    rescue ArgumentError => error
      raise if error.is_a?(ConfigurationError)
      raise ConfigurationError, "memcached: #{error.message}; expected HOST:PORT[:WEIGHT] or a socket's path, " \
                                "got #{Redacted.text(servers)}"
    end

    # --- one key ---

    def get(key)
      wire_key = WireKey.encode(key)
      node(wire_key).call(key) do |connection, deadline|
        connection.call(Connection.get_request(wire_key), deadline)
      end || nil
    end

    def token_of(bytes) = Token.of(bytes)

    def look(key)
      wire_key = WireKey.encode(key)
      node(wire_key).call(key) { |connection, deadline| connection.look(wire_key, deadline) }
    end

    def get_with_token(key) = look(key)&.first(2)

    def set(key, bytes, ttl = nil)
      answer = call(key) { |wire_key| Connection.set_request(wire_key, bytes, wire_ttl(ttl)) }
      return answer unless answer == :too_large
      delete(key)
      raise too_large(key, bytes)
    end

    def add(key, bytes, ttl = nil)
      answer = call(key, resend: false) { |wire_key| Connection.add_request(wire_key, bytes, wire_ttl(ttl)) }
      answer == :too_large ? raise(too_large(key, bytes)) : answer
    end

    def add_or_get(key, bytes, ttl = nil)
      wire_key = WireKey.encode(key)
      request = Connection.look_request(wire_key).b << Connection.add_request(wire_key, bytes, wire_ttl(ttl))
      present, added = node(wire_key).call(key, resend: false) do |connection, deadline|
        connection.write(request, deadline)
        connection.read_all(2, deadline)
      end
      error = [present, added].find { |answer| answer.is_a?(Exception) }
      raise backend_error(error) if error && !present.is_a?(Array)
      raise too_large(key, bytes) if added == :too_large
      return true if added == true
      present ? present.first(2) : get_with_token(key)
    end

    def compare_and_set(key, bytes, token, ttl = nil)
      answer = call(key, resend: false) do |wire_key, connection|
        Connection.set_request(wire_key, bytes, wire_ttl(ttl), token.cas_over(connection))
      end
      answer == :too_large ? raise(too_large(key, bytes)) : answer
    end

    def compare_exchange(key, bytes, ttl = nil, token = nil)
      wire_key = WireKey.encode(key)
      answer, there = node(wire_key).call(key) do |connection, deadline|
        connection.write(exchange_requests(wire_key, bytes, wire_ttl(ttl), token, connection), deadline)
        connection.read_all(2, deadline)
      end
      return there if there.is_a?(Array)
      error = [answer, there].find { |response| response.is_a?(Exception) }
      error ? raise(backend_error(error)) : nil
    end

    def exchanges_at_once? = true

    def delete(key) = call(key) { |wire_key| "md #{wire_key}\r\n" }
    def touch(key, ttl) = call(key) { |wire_key| "mg #{wire_key} T#{wire_ttl(ttl)}\r\n" }

    # The server's own arithmetic stops at 0, wraps at 2**64, and leaves trailing spaces when a number loses a digit.
    # So only additions, the common case, use that arithmetic. Subtractions and negative numbers compare and set.
    def increment(key, amount = 1, ttl = nil)
      Counter.in_range(amount, key)
      wire_key = WireKey.encode(key)
      node(wire_key).call(key, resend: false) do |connection, deadline|
        native = amount.between?(0, NATIVE_MAX)
        count = add_natively(connection, key, wire_key, amount, wire_ttl(ttl), deadline) if native
        count || add_in_steps(connection, wire_key, wire_ttl(ttl), deadline) do |bytes|
          bytes ? Counter.add(bytes.sub(PADDING, ""), amount, key) : amount
        end
      end
    end

    # --- several keys: one trip to each of their servers ---

    def get_multi(keys)
      return {} if keys.empty?
      wire_keys = keys.map { |key| WireKey.encode(key) }
      responses = exchange(wire_keys) { |_, wire_key| Connection.get_request(wire_key) }
      found = {}
      responses.each_with_index { |bytes, index| found[keys[index]] = bytes if bytes.is_a?(String) }
      found.size == keys.size ? found : result(responses, found)
    end

    def get_multi_with_tokens(keys)
      responses = look_at(keys)
      result(responses, keys.zip(responses).to_h
                             .filter_map { |key, found| [key, found.first(2)] if found.is_a?(Array) }.to_h)
    end

    def set_multi(pairs, ttl = nil)
      return true if pairs.empty?
      values, ttl = pairs.values, wire_ttl(ttl)
      answers = exchange(pairs.keys.map { |key| WireKey.encode(key) }) do |index, wire_key|
        Connection.set_request(wire_key, values[index], ttl)
      end
      result(answers, false)
      large = pairs.keys.select.with_index { |_, index| answers[index] == :too_large }
      return answers.all?(true) if large.empty?
      delete_multi(large)
      raise Refused.new("#{large.size} of #{pairs.size} values are larger than the server takes (its option -I); " \
                        "they are not stored", backend: @name, key: large.first)
    end

    # Writes, then reads the entries, in one trip to each server.
    def compare_exchange_multi(pairs, ttl = nil, tokens = {})
      return {} if pairs.empty?
      keys = pairs.keys
      responses = exchange(keys.map { |key| WireKey.encode(key) }, each: 2) do |index, wire_key, connection|
        key = keys[index]
        exchange_requests(wire_key, pairs[key], wire_ttl(ttl), tokens[key], connection)
      end
      found = {}
      responses.each_with_index do |(answer, there), index|
        next found[keys[index]] = there if there.is_a?(Array)
        responses[index] = [answer, there].grep(Exception).first
      end
      result(responses, found)
    end

    def compare_and_set_multi(changes, ttl = nil)
      return [] if changes.empty?
      keys = changes.keys
      answers = exchange(keys.map { |key| WireKey.encode(key) }) do |index, wire_key, connection|
        bytes, token = changes[keys[index]]
        Connection.set_request(wire_key, bytes, wire_ttl(ttl), token.cas_over(connection))
      end
      result(answers, keys.select.with_index { |_, index| answers[index] == true })
    end

    def delete_multi(keys) = keys.empty? ? 0 : delete_wire_keys(keys.map { |key| WireKey.encode(key) })

    # A frame that changes between the two steps stays. Its key counts as failed, so that the caller tries again.
    def delete_frames(keys)
      found = look_at(keys)
      frames = found.each_index.select do |index|
        found[index].is_a?(Array) && Frame.replaceable?(found[index].first)
      end
      answers = exchange(frames.map { |index| WireKey.encode(keys[index]) }) do |nth, wire_key, connection|
        "md #{wire_key} C#{found[frames[nth]][1].cas_over(connection)}\r\n"
      end
      changed = Refused.new("it changed while it was deleted", backend: @name)
      frames.zip(answers) { |index, answer| found[index] = answer || changed }
      failed = keys.zip(found).select { |_, answer| answer.is_a?(Exception) }
      failed.to_h.transform_values { |failure| backend_error(failure) }
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
      enum_for(:each_wire_key, prefix).each_slice(1_000) { |wire_keys| delete_wire_keys(wire_keys) }
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
      @ring.nodes.to_h do |node|
        [node.name, node.call(nil, deadline:) { |connection, until_then| connection.stats(until_then) }]
      end
    end

    def close = @ring.nodes.each(&:close)

    def to_s = @name
    def several_servers? = @only.nil?
    def answers_elsewhere? = @only.nil? && @ring.nodes.any?(&:answering?)

    def remote? = true

    private

    def node(wire_key) = @only || @ring.node_for(wire_key)

    # @return [String] a request that writes, and one that then reads the entry
    def exchange_requests(wire_key, bytes, ttl, token, connection)
      write = if token then Connection.set_request(wire_key, bytes, ttl, token.cas_over(connection))
              else Connection.add_request(wire_key, bytes, ttl)
              end
      write << Connection.look_request(wire_key)
    end

    # @yieldparam wire_key [String]
    # @yieldparam connection [Connection]
    # @yieldreturn [String] the request
    # @return [Object] the response
    def call(key, resend: true)
      wire_key = WireKey.encode(key)
      node(wire_key).call(key, resend:) do |connection, deadline|
        connection.call(yield(wire_key, connection), deadline)
      end
    end

    # Sends the requests of all keys, to all servers at the same time.
    #
    # @param each [Integer] requests for each key
    # @yieldparam index [Integer] the position of the key
    # @yieldparam wire_key [String]
    # @yieldparam connection [Connection]
    # @yieldreturn [String] the requests for the key
    # @return [Array<Object>] for each key its response, or its responses; or a BackendError, if its server failed
    def exchange(wire_keys, each: 1)
      responses = Array.new(wire_keys.size)
      deadline = Clock.monotonic + @timeout
      Backends::Remote::Exchange.new(deadline, each:) do |indexes, connection|
        request = String.new
        indexes.each { |index| request << yield(index, wire_keys[index], connection) }
        connection.write(request, deadline)
      end.run(@ring.group(wire_keys), responses)
      responses
    end

    def result(responses, result) = Backends::Remote::Exchange.result(responses, result, @name)

    def backend_error(error)
      error.is_a?(BackendError) ? error : Refused.new(error.message, backend: @name)
    end

    def look_at(keys)
      exchange(keys.map { |key| WireKey.encode(key) }) { |_, wire_key| Connection.look_request(wire_key) }
    end

    def delete_wire_keys(wire_keys)
      answers = exchange(wire_keys) { |_, wire_key| "md #{wire_key}\r\n" }
      result(answers, answers.count(true))
    end

    # The server also adds to text that is nearly a number, such as "007". The same trip reads the former bytes.
    # Bytes that are no counter are restored, unless another caller has changed them since.
    #
    # @return [Integer, nil] nil if the server could not add
    def add_natively(connection, key, wire_key, amount, ttl, deadline)
      connection.write("mg #{wire_key} v\r\nma #{wire_key} N#{ttl} J#{amount} D#{amount} c t v\r\n", deadline)
      before, sum = connection.read_all(2, deadline).each { |it| raise it if it.is_a?(Connection::ServerError) }
      return unless sum.is_a?(Array)
      count, token, left = sum
      if before && !Counter.parse(before.sub(PADDING, ""))
        counted?(connection, wire_key, before, left, token, deadline)
        Counter.add(before, 0, key) # raises
      end
      return count.to_i if count.to_i.between?(amount, Counter::MAX)
      add_in_steps(connection, wire_key, ttl, deadline) { |bytes| (bytes.to_i - amount) % 2**64 }
      Counter.in_range(Counter::MAX + 1, key) # raises
    end

    # @yieldparam bytes [String, nil] the present count
    # @yieldreturn [Integer] the new count
    def add_in_steps(connection, wire_key, ttl, deadline)
      loop do
        raise IO::TimeoutError, "other callers kept changing the counter" if Clock.monotonic > deadline
        bytes, token, left = connection.look(wire_key, deadline)
        count = yield(bytes)
        return count if bytes && counted?(connection, wire_key, count, left, token, deadline)
        return count if bytes.nil? && connection.call(Connection.add_request(wire_key, count.to_s, ttl), deadline)
      end
    end

    # 0 would mean no expiry.
    def counted?(connection, wire_key, count, left, token, deadline)
      ttl = left ? [left.to_i - 1, 1].max : 0
      connection.call(Connection.set_request(wire_key, count.to_s, ttl, token.cas_over(connection)), deadline)
    end

    def too_large(key, bytes)
      Refused.new("#{Sizes.human(bytes.bytesize)} are more than the server takes in one value (its option -I); " \
                  "nothing is stored", backend: @name, key:)
    end

    def clear_all
      deadline = Clock.monotonic + @timeout
      @ring.nodes.each do |node|
        node.call(nil, deadline:) { |connection, until_then| connection.call("flush_all\r\n", until_then) }
      end
      nil
    end

    def each_wire_key(prefix, &)
      @ring.nodes.each { |node| KeyDump.new(node, @timeout).each(WireKey.beginnings(prefix.to_s), &) }
    end

    # Expiry uses the server's clock, not {Clock}; tests that move Ruby's time do not affect it.
    def wire_ttl(ttl)
      return 0 unless ttl
      seconds = ttl.ceil
      return seconds if seconds <= RELATIVE_TTL_MAX
      ends_at = Process.clock_gettime(Process::CLOCK_REALTIME, :second) + seconds
      ends_at <= LAST_DATE ? ends_at : 0
    end

    # Keys in memcached's form: 1 to 250 bytes without spaces and control characters (memcached's protocol.txt).
    #
    # - A key in this form that has no "%" is sent unchanged.
    # - Any other key is percent-encoded as in Rails' MemCacheStore (control characters, space, "%" and all bytes
    #   from 7F), so that both stores find the same entries.
    # - If the result exceeds 250 bytes, bytes from 80 stay unencoded, which memcached permits.
    # - A key that is still too long becomes "%=", the beginning of the key, and a SHA-256. This key cannot be decoded;
    #   only its beginning is recognizable.
    module WireKey
      LIMIT_BYTES = 250
      UNSAFE = /[\x00-\x20%\x7F-\xFF]/n
      UNSAFE_BUT_HIGH = /[\x00-\x20%\x7F]/n
      UNSAFE_ASCII = /[\x00-\x20%\x7F]/
      ESCAPES = Array.new(256) { |byte| format("%%%02X", byte).b.freeze }.freeze
      DIGEST_MARK = "%=".b.freeze
      DIGEST_BYTES = 64
      LEAD_BYTES = LIMIT_BYTES - DIGEST_MARK.bytesize - DIGEST_BYTES

      class << self
        # @param key [String]
        # @return [String]
        def encode(key)
          return key if key.bytesize.between?(1, LIMIT_BYTES) && key.ascii_only? && !UNSAFE_ASCII.match?(key)
          raise ArgumentError, "key: expected a String that is not empty" if key.empty?
          key = key.b
          encoded = escape(key, UNSAFE)
          return encoded if encoded.bytesize <= LIMIT_BYTES
          encoded = escape(key, UNSAFE_BUT_HIGH)
          return encoded if encoded.bytesize <= LIMIT_BYTES
          "#{DIGEST_MARK}#{encoded.byteslice(0, LEAD_BYTES)}#{Digest::SHA256.hexdigest(key)}"
        end

        # @param wire_key [String]
        # @return [String, nil] the key, nil if it cannot be decoded
        def decode(wire_key)
          return if wire_key.start_with?(DIGEST_MARK)
          wire_key.include?("%") ? unescape(wire_key) : wire_key
        end

        # @param prefix [String] to match keys stored as digests: at most {LEAD_BYTES} when encoded
        # @return [Array<String>] the beginnings of the wire keys of all keys with this prefix
        def beginnings(prefix)
          low = escape(prefix.b, UNSAFE_BUT_HIGH)
          [escape(prefix.b, UNSAFE), low, DIGEST_MARK + low.byteslice(0, LEAD_BYTES)]
        end

        # @param text [String] a text with %XX
        # @return [String] in binary
        def unescape(text) = text.b.gsub(/%(\h\h)/n) { Regexp.last_match(1).hex.chr }

        private

        def escape(key, unsafe) = key.gsub(unsafe) { |byte| ESCAPES[byte.ord] }
      end
    end
  end
end
