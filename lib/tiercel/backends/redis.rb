# frozen_string_literal: true

require "digest"

module Tiercel
  # Redis 6.0 and later, or Valkey: a single server, a master found through Sentinels, or a cluster.
  #
  #   redis://:password@cache:6379/0       rediss://cache:6380/0       unix:/run/redis.sock
  #   redis://mymaster/0?sentinels=10.0.0.1:26379,10.0.0.2:26379
  #   redis+cluster://10.0.0.1:6379,10.0.0.2:6379
  #
  # Bytes are sent unchanged, TTLs in milliseconds. An entry without a TTL gets one of 71,000 years, so that the
  # server's `volatile-*` policies may evict it.
  #
  # Redis has no entry versions. The bytes are the token: a swap over an entry that changed and changed back does no
  # harm, and no placeholder recurs, because its holder is random. A script compares and sets. A user who may not run
  # scripts needs two trips instead ({#compare_in_steps}).
  class Backends::Redis < Backend
    autoload :Address, "tiercel/backends/redis/address"
    autoload :Cluster, "tiercel/backends/redis/cluster"
    autoload :Connection, "tiercel/backends/redis/connection"
    autoload :OK, "tiercel/backends/redis/connection"
    autoload :ReplyError, "tiercel/backends/redis/connection"
    autoload :SeenServers, "tiercel/backends/redis/subscription"
    autoload :Sentinels, "tiercel/backends/redis/address"
    autoload :Subscription, "tiercel/backends/redis/subscription"

    ENDLESS_MS = 2**51
    # Expected bytes up to this size are sent themselves, which costs less than a digest.
    SHORT_BYTES = 256
    SCAN_COUNT = "1000"
    GLOB_CHARACTERS = /[*?\[\]\\]/n
    # Matches the INFO of a server that evicts by use.
    EVICTS_BY_USE = /^maxmemory:[1-9].*^maxmemory_policy:\w+-l[rf]u/m
    POLICY_SECONDS = 60.0
    private_constant :SHORT_BYTES, :EVICTS_BY_USE, :POLICY_SECONDS

    # Sets the key if the entry has the expected bytes. KEYS: key. ARGV: the bytes or, with a fourth argument, their
    # SHA-1; the new bytes; ttl in ms. The source is sent with each call: it is shorter than most values, and no
    # server can have forgotten it.
    COMPARE_AND_SET = <<~LUA
      local bytes = redis.call('GET', KEYS[1])
      if not bytes or (ARGV[4] and redis.sha1hex(bytes) or bytes) ~= ARGV[1] then return 0 end
      redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
      return 1
    LUA

    # Deletes a frame unless it has the part EXCLUSIVE; see {Backend#delete_frames}. Runs UNLINK even for an absent
    # key, so that a server that refuses writes reports it. KEYS: key.
    DELETE_FRAME = <<~LUA.freeze
      local function two_bytes(bytes, at) return bytes:byte(at) + 256 * bytes:byte(at + 1) end
      local head = redis.pcall('GETRANGE', KEYS[1], 0, #{Frame::Layout::HEADER_BYTES - 1})
      if type(head) ~= 'string' then return 0 end
      if #head > 0 then
        if head:byte(1) ~= #{Frame::Layout::MAGIC} or #head < #{Frame::Layout::HEADER_BYTES} then return 0 end
        local size, at = two_bytes(head, #{Frame::Layout::PARTS_BYTES_AT + 1}), 1
        local parts = size == 0 and '' or redis.call('GETRANGE', KEYS[1], #{Frame::Layout::HEADER_BYTES},
                                                     #{Frame::Layout::HEADER_BYTES - 1} + size)
        while at + 2 <= #parts do
          if parts:byte(at) == #{Frame::Layout::PART_EXCLUSIVE} then return 0 end
          at = at + 3 + two_bytes(parts, at + 1)
        end
      elseif redis.call('EXISTS', KEYS[1]) == 1 then
        return 0
      end
      return redis.call('UNLINK', KEYS[1])
    LUA
    private_constant :COMPARE_AND_SET, :DELETE_FRAME

    # @return [Array<Symbol>]
    def self.option_names = Options.of(:redis)

    # @param url [BackendURL]
    # @param options [Hash]
    # @option options [Numeric] :timeout time budget of one call in seconds (0.25)
    # @option options [Numeric] :connect_timeout maximum part of it for connecting, in seconds
    # @option options [Hash, Integer, false] :pool size and timeout (5, 5 s); false for no limit
    # @option options [String] :username
    # @option options [String, #call] :password
    # @option options [Integer] :db number of the database
    # @option options [Hash] :ssl_params parameters for OpenSSL::SSL::SSLContext#set_params
    # @option options [Array, String] :sentinels { host:, port: } each, or "HOST:PORT,HOST:PORT"
    # @option options [String] :name the name of the master, if it is not the URL's host
    # @option options [String] :sentinel_username
    # @option options [String] :sentinel_password
    # @return [Redis]
    # @raise [ConfigurationError]
    def self.build(url, options = {}) = new(url, **options)

    # @param url [BackendURL]
    # @param options [Hash] see {.build}
    def initialize(url, **options)
      super()
      options = Options.values(:redis, options)
      timeout, pool = options.values_at(:timeout, :pool)
      @address = Address.new(url, options)
      @name = url.to_s.freeze
      @several = @address.cluster?
      @database = @address.database
      @commands = (@several ? Cluster : Single).new(@name, @address, timeout: timeout, pool: pool)
    end

    # --- read ---

    def get(key)
      binary(call(["GET", key], key))
    end

    def get_multi(keys)
      return {} if keys.empty?
      found = {}
      replies = @several ? @commands.pipelined(keys.map { |key| ["GET", key] }) : call(["MGET", *keys], nil)
      expect_all(keys.size, replies).each_index do |index|
        reply = replies[index]
        found[keys[index]] = reply.frozen? ? binary(reply) : reply if reply.is_a?(String)
      end
      found.size == keys.size ? found : result(replies, found)
    end

    def get_with_token(key) = (bytes = get(key)) && [bytes, bytes]
    def get_multi_with_tokens(keys) = get_multi(keys).transform_values { |bytes| [bytes, bytes] }
    def token_of(bytes) = bytes

    def look(key)
      bytes, left = @commands.pipelined([["GET", key], ["PTTL", key]])
      shown(checked(bytes, key), left)
    end

    # --- write ---

    def set(key, bytes, ttl = nil)
      expect(OK, call(["SET", key, bytes, "PX", ms(ttl)], key)) && true
    end

    def set_multi(pairs, ttl = nil)
      return true if pairs.empty?
      milliseconds = ms(ttl)
      commands = pairs.map { |key, bytes| ["SET", key, bytes, "PX", milliseconds] }
      result(@commands.pipelined(commands), false)
      true
    end

    def add(key, bytes, ttl = nil)
      reply = call(["SET", key, bytes, "NX", "PX", ms(ttl)], key, resend: false)
      reply.nil? ? false : expect(OK, reply) && true
    end

    def add_or_get(key, bytes, ttl = nil)
      commands = [["SET", key, bytes, "NX", "PX", ms(ttl)], ["GET", key]]
      replies = @commands.on(key, resend: false) do |connection, deadline|
        connection.call_all(commands, deadline).then { |both| both.first.is_a?(ReplyError) ? both.first : both }
      end
      set, present = checked(replies, key)
      return true if set
      binary(present) && [present, present] unless wrong_type?(present)
    end

    def compare_and_set(key, bytes, token, ttl = nil)
      command = compare_and_set_command(key, bytes, token, ms(ttl))
      reply = @commands.on(key, resend: false) { |connection, deadline| connection.call(command, deadline) }
      reply = compare_in_steps(key, bytes, token, ms(ttl)) if script_refused?(reply)
      checked(reply, key) == 1
    end

    def compare_and_set_multi(changes, ttl = nil)
      return [] if changes.empty?
      milliseconds = ms(ttl)
      commands = changes.map { |key, (bytes, token)| compare_and_set_command(key, bytes, token, milliseconds) }
      replies = call_scripts(commands) do |index|
        key, (bytes, token) = changes.to_a[index]
        compare_in_steps(key, bytes, token, milliseconds)
      end
      result(replies, changes.keys.select.with_index { |_, index| replies[index] == 1 })
    end

    # Writes, then reads the entry, in one trip. The written bytes are their own token, because no other caller
    # writes the same bytes.
    def compare_exchange(key, bytes, ttl = nil, token = nil)
      milliseconds = ms(ttl)
      replies = @commands.pipelined(exchange_commands(key, bytes, token, milliseconds))
      exchanged(key, bytes, token, milliseconds, *replies)
    end

    def exchanges_at_once? = true

    def compare_exchange_multi(pairs, ttl = nil, tokens = {})
      return {} if pairs.empty?
      milliseconds = ms(ttl)
      replies = @commands.pipelined(pairs.flat_map do |key, bytes|
        exchange_commands(key, bytes, tokens[key], milliseconds)
      end)
      found = pairs.each_with_index.to_h do |(key, bytes), index|
        [key, exchanged(key, bytes, tokens[key], milliseconds, *replies[index * 3, 3])]
      rescue BackendError => error
        [key, error]
      end
      result(found.values, found.select { |_, there| there.is_a?(Array) })
    end

    def delete(key) = expect(Integer, call(["UNLINK", key], key)) == 1

    def delete_multi(keys)
      return 0 if keys.empty?
      counts = @several ? @commands.pipelined(keys.map { |key| ["UNLINK", key] }) : [call(["UNLINK", *keys], nil)]
      result(counts, counts.sum { |count| count.is_a?(Exception) ? 0 : expect(Integer, count) })
    end

    def delete_frames(keys)
      return {} if keys.empty?
      replies = call_scripts(keys.map { |key| ["EVAL", DELETE_FRAME, "1", key] }) { |index| delete_frame(keys[index]) }
      keys.zip(replies).filter_map { |key, reply| [key, translate(reply, key)] if reply.is_a?(Exception) }.to_h
    rescue BackendError => error
      keys.to_h { |key| [key, error] }
    end

    # Atomic without a script, whose integers have only 53 bits.
    def increment(key, amount = 1, ttl = nil)
      Counter.in_range(amount, key)
      commands = [["SET", key, "0", "NX", "PX", ms(ttl)], ["INCRBY", key, amount.to_s]]
      counts = @commands.on(key, resend: false) { |*connection| transaction(*connection, commands) }
      if counts.is_a?(ReplyError) && counts.not_a_number?
        raise NotACounter, "the key #{KeyMask.of(key)}: #{OneLine.of(counts.message)}; nothing was changed"
      end
      expect(Integer, expect_all(2, checked(counts, key)).last)
    end

    def touch(key, ttl) = call(["PEXPIRE", key, ms(ttl)], key) == 1

    # Scans in steps of a thousand keys, so that other clients do not wait long. Each step has its own time budget.
    def scan(prefix = nil, &)
      return enum_for(:scan, prefix) unless block_given?
      pattern = "#{prefix&.b&.gsub(GLOB_CHARACTERS) { |char| "\\#{char}" }}*"
      @commands.nodes.each do |node|
        cursor = "0"
        begin
          page, = ask_node(node, ["SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT])
          cursor, keys = expect_all(2, page)
          expect(Array, keys).each(&)
        end until cursor == "0"
      end
    end

    # --- the server ---

    def stats
      infos = @commands.nodes.map { |node| ask_node(node, ["INFO"], ["DBSIZE"]) }
      texts = infos.map { |text, _| expect(String, text).scan(/^(\w+):(.*?)\r?$/).to_h }
      sums = { bytes: "used_memory", hits: "keyspace_hits", misses: "keyspace_misses", evictions: "evicted_keys",
               connections: "connected_clients" }.transform_values { |name| texts.sum { |text| text[name].to_i } }
      { entries: infos.sum { |_, count| expect(Integer, count) }, **sums, version: texts.first["redis_version"] }
    end

    # @private
    # @param command [Array<String>] a read-only command such as INFO
    # @return [Object] the reply; in a cluster the reply of one node
    def ask(*command) = ask_node(@commands.nodes.first, command).first

    # @private
    # @return [Integer]
    attr_reader :database

    # Replaces all connections: later calls open new ones, because the address may lead to another server by now.
    #
    # @return [void]
    def renew = @commands.renew

    def close = @commands.close
    def to_s = @name
    def several_servers? = @several
    def answers_elsewhere? = @several && @commands.answering?
    def remote? = true

    # --- for near tiers ---

    # The masters of a cluster can change at any time (adr/016).
    def subscribable? = !@several

    # @param prefix [String, nil] limits the messages to keys with this prefix; nil for all keys
    # @return [Subscription] a subscription that is not connected yet
    def subscription(prefix = nil)
      Subscription.new(@name, prefix) { |protocol| @address.connection(protocol: protocol) }
    end

    # @param prefix [String, nil] see {#subscription}
    # @return [SeenServers] collects the servers of all connections used since the last {#renew}
    def watch_servers(prefix = nil)
      @commands.servers ||= SeenServers.new
      @commands.servers.tap { |servers| servers.prefix = prefix }
    end

    # @return [Boolean] whether the server evicts by use; checked once a minute, because its policy may change
    def uses_wanted?
      now = Clock.monotonic
      return @evicts_by_use if @asked_at && now - @asked_at < POLICY_SECONDS
      @asked_at = now
      @evicts_by_use = EVICTS_BY_USE.match?(expect(String, ask("INFO", "memory")))
    end

    # @param keys [Array<String>] the keys that were read in a near tier lately; each counts as one read
    def used(keys)
      call(["TOUCH", *keys], nil)
      nil
    end

    private

    def call(command, key, resend: true)
      checked(@commands.on(key, resend:) { |connection, deadline| connection.call(command, deadline) }, key)
    end

    # @param node [Remote::Node]
    # @return [Array<Object>] the replies
    def ask_node(node, *commands)
      node.call(nil) { |connection, deadline| connection.call_all(commands, deadline) }.each { |reply| checked(reply) }
    end

    # @return [Object] a reply that is no error
    def checked(reply, key = nil)
      reply.is_a?(Exception) ? raise(translate(reply, key), cause: reply) : reply
    end

    def compare_and_set_command(key, bytes, token, milliseconds)
      return ["EVAL", COMPARE_AND_SET, "1", key, token, bytes, milliseconds] if token.bytesize <= SHORT_BYTES
      ["EVAL", COMPARE_AND_SET, "1", key, Digest::SHA1.hexdigest(token), bytes, milliseconds, "sha1"]
    end

    def exchange_commands(key, bytes, token, milliseconds)
      write = token ? compare_and_set_command(key, bytes, token, milliseconds)
                    : ["SET", key, bytes, "NX", "PX", milliseconds]
      [write, ["GET", key], ["PTTL", key]]
    end

    # @return [Array, nil] the entry according to the replies to {#exchange_commands}; see {#shown}
    def exchanged(key, bytes, token, milliseconds, written, present, left)
      if wrong_type?(present) # replaced, as by a plain write
        call(["SET", key, bytes, "PX", milliseconds], key)
        present, left = bytes, milliseconds.to_i
      elsif script_refused?(written) && present == token
        present, left = bytes, milliseconds.to_i if compare_in_steps(key, bytes, present, milliseconds) == 1
      elsif present.nil?
        checked(written, key)
      end
      shown(checked(present, key), left)
    end

    # @yieldreturn [Object] the reply in place of a script that this user may not run
    # @return [Array<Object>] the replies, including errors
    def call_scripts(commands)
      replies = @commands.pipelined(commands)
      replies.each_with_index { |reply, index| replies[index] = yield(index) if script_refused?(reply) }
    end

    def script_refused?(reply) = reply.is_a?(ReplyError) && reply.refuses_scripts?

    # As COMPARE_AND_SET: EXEC does nothing if the entry has changed since WATCH.
    #
    # @return [Integer] 1 if the bytes were set
    def compare_in_steps(key, bytes, token, milliseconds)
      @commands.on(key, resend: false) do |connection, deadline|
        watched, present = connection.call_all([["WATCH", key], ["GET", key]], deadline)
        error = [watched, present].grep(ReplyError).first and next error
        next connection.call(["UNWATCH"], deadline) && 0 unless present == token
        set = transaction(connection, deadline, [["SET", key, bytes, "PX", milliseconds]])
        set.is_a?(Array) ? 1 : set || 0
      end
    end

    # @return [Array<Object>, ReplyError, nil] the replies; nil if a watched key has changed
    def transaction(connection, deadline, commands)
      replies = connection.call_all([["MULTI"], *commands, ["EXEC"]], deadline)
      [*replies, *Array(replies.last)].find { |reply| reply.is_a?(ReplyError) } || replies.last
    end

    # @param ttl [Numeric, nil] seconds
    # @return [String] milliseconds, rounded up
    def ms(ttl) = (ttl ? [ttl * 1000, ENDLESS_MS - 1].min.ceil : ENDLESS_MS).to_s

    # @return [Array(String, String, Float), nil] as {Backend#look}. An endless entry has no remaining TTL
    def shown(bytes, left)
      return if bytes.nil?
      left = expect(Integer, left)
      [binary(bytes), bytes, (left / 1000.0 if left.between?(0, ENDLESS_MS / 2))]
    end

    # A reply of another kind comes from a server outside Redis' family, or belongs to another command: then no
    # open connection is used again.
    #
    # @param kind [#===]
    # @return [Object] the reply
    # @raise [Unavailable]
    def expect(kind, reply)
      return reply if kind === reply
      @commands.renew
      raise Unavailable.new("unexpected reply of the class #{reply.class}", backend: @name)
    end

    # @return [Array] the replies to the commands
    def expect_all(count, replies)
      expect(Array, replies)
      replies.size == count ? replies : expect(nil, replies)
    end

    # A frozen reply is a status, such as OK, and no value.
    #
    # @return [String, nil]
    def binary(reply)
      return if reply.nil?
      expect(nil, reply) if expect(String, reply).frozen?
      reply
    end

    # @return [BackendError]
    def translate(error, key = nil) = error.is_a?(BackendError) ? error : error.translated(@name, key)

    def result(replies, result) = Backends::Remote::Exchange.result(replies, result, @name)
    def wrong_type?(reply) = reply.is_a?(ReplyError) && reply.miss?

    def clear_all
      @commands.nodes.each { |node| ask_node(node, %w[FLUSHDB ASYNC]) }
      nil
    end

    # Sends commands to a single server (or to the master that the Sentinels report).
    class Single < Backends::Remote::Node
      # @param pool [Hash] see {Options.values}
      def initialize(name, address, timeout:, pool:)
        super(name, timeout:, pool:) { address.connection(servers: @servers) }
      end

      # @return [SeenServers, nil] collects the servers of the connections; must be set before the first call
      attr_accessor :servers

      # Runs the block with a connection to the key's server; see {Remote::Node#call}. The block's value may be a
      # {ReplyError}.
      alias on call

      # Sends the commands in one trip.
      #
      # @return [Array<Object>] the replies, including errors
      # @raise [BackendError]
      def pipelined(commands) = call(nil) { |connection, deadline| connection.call_all(commands, deadline) }

      # @return [Array<Remote::Node>] the servers that have keys
      def nodes = [self]

      def renew
        super
        @servers&.forget # last, so that a caller that sees the new list also uses a connection in it
      end
    end
  end
end
