# frozen_string_literal: true

module Tiercel
  module Backends
    # Redis 6.0 and later, or Valkey: a single server, a master found through Sentinels, or a cluster. {Abilities}
    # describes the support of servers before Redis 7 and of servers that refuse scripts.
    #
    #   redis://:password@cache:6379/0       rediss://cache:6380/0       unix:/run/redis.sock
    #   redis://mymaster/0?sentinels=10.0.0.1:26379,10.0.0.2:26379
    #   redis+cluster://10.0.0.1:6379,10.0.0.2:6379
    #
    # Bytes are sent unchanged, TTLs in milliseconds. See {Claims} for entries without a TTL.
    class Redis < Backend
      autoload :Abilities, "tiercel/backends/redis/abilities"
      autoload :Address, "tiercel/backends/redis/address"
      autoload :BehindTiers, "tiercel/backends/redis/behind_tiers"
      autoload :Claims, "tiercel/backends/redis/claims"
      autoload :Cluster, "tiercel/backends/redis/cluster"
      autoload :Connection, "tiercel/backends/redis/connection"
      autoload :OK, "tiercel/backends/redis/connection"
      autoload :ReplyError, "tiercel/backends/redis/connection"
      autoload :Script, "tiercel/backends/redis/scripts"
      autoload :SeenServers, "tiercel/backends/redis/seen_servers"
      autoload :Sentinels, "tiercel/backends/redis/sentinels"
      autoload :Subscription, "tiercel/backends/redis/subscription"

      include BehindTiers
      include Claims

      SCAN_COUNT = "1000"
      GLOB_CHARACTERS = /[*?\[\]\\]/n

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
      # @option options [Symbol] :role :master or :replica
      # @option options [String] :sentinel_username
      # @option options [String] :sentinel_password
      # @return [Redis]
      # @raise [ConfigurationError]
      # @raise [MissingDependency]
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
        @subscribable = options[:role] != :replica && !@several
        @commands = (@several ? Cluster : Single).new(@name, @address, timeout: timeout, pool: pool)
      end

      def get(key)
        binary(call(["GET", key], key))
      end

      def get_multi(keys)
        return {} if keys.empty?
        found = {}
        other = nil
        index = -1
        expect_all(keys.size, guarded { @commands.get_multi(keys) }).each do |reply|
          index += 1
          if reply.is_a?(String)
            found[keys[index]] = binary(reply)
          elsif reply
            (other ||= []) << reply
          end
        end
        failure = failed(other) if other
        return found unless failure
        raise other.size == keys.size ? failure : failure.with_partial(found)
      end

      def set(key, bytes, ttl = nil)
        expect(OK, call(["SET", key, bytes, "PX", ms(ttl)], key)) && true
      end

      def set_multi(pairs, ttl = nil)
        return true if pairs.empty?
        replies = guarded { @commands.set_multi(pairs, ms(ttl)) }
        failure = failed(replies) or return true
        raise replies.include?(OK) ? failure.with_partial(false) : failure
      end

      def add(key, bytes, ttl = nil)
        reply = call(["SET", key, bytes, "NX", "PX", ms(ttl)], key, resend: false)
        reply.nil? ? false : expect(OK, reply) && true
      end

      def add_or_get(key, bytes, ttl = nil)
        return super unless compares?
        guarded(key) do
          reply = Script::ADD_OR_GET.for(@commands).call(@commands, key, bytes, ms(ttl))
          next true if reply.nil?
          ends_at, present = expect_all(2, reply)
          [expect(String, binary(present)), [ends_at, present]]
        end
      end

      def delete(key) = expect(Integer, call(["UNLINK", key], key)) == 1

      def delete_multi(keys)
        return 0 if keys.empty?
        counts = guarded { @commands.delete_multi(keys) }
        failure = failed(counts) or return counts.sum { |count| expect(Integer, count) }
        answered = counts.grep(Integer)
        raise answered.empty? ? failure : failure.with_partial(answered.sum)
      end

      def increment(key, amount = 1, ttl = nil)
        Counter.in_range(amount, key)
        guarded(key) do
          abilities.scripts? ? increment_by_script(key, amount, ttl) : increment_in_steps(key, amount, ttl)
        rescue ReplyError => error
          raise unless error.not_a_number?
          raise NotACounter, "the key #{KeyMask.of(key)}: #{OneLine.of(error.message)}; nothing was changed"
        end
      end

      def touch(key, ttl) = call(["PEXPIRE", key, ms(ttl)], key) == 1

      # Scans in steps of a thousand keys, so that other clients do not wait long.
      def scan(prefix = nil)
        return enum_for(:scan, prefix) unless block_given?
        pattern = "#{prefix&.b&.gsub(GLOB_CHARACTERS) { |char| "\\#{char}" }}*"
        each_page(pattern) { |keys| keys.each { |key| yield key } }
      end

      def stats
        infos = guarded { @commands.infos }
        texts = infos.map { |text, _| expect(String, text).scan(/^(\w+):(.*?)\r?$/).to_h }
        { entries: infos.sum { |_, count| expect(Integer, count) }, bytes: sum(texts, "used_memory"),
          hits: sum(texts, "keyspace_hits"), misses: sum(texts, "keyspace_misses"),
          evictions: sum(texts, "evicted_keys"),
          connections: sum(texts, "connected_clients"), version: texts.first["redis_version"] }
      end

      # @private
      # @param command [Array<String>] a read-only command such as INFO
      # @return [Object] the reply; in a cluster the reply of one node
      def ask(*command) = guarded { @commands.ask(command) }

      # @private
      # @return [Integer]
      attr_reader :database

      def close = @commands.close

      def to_s = @name
      def several_servers? = @several

      def remote? = true

      private

      def call(command, key, resend: true)
        @commands.call(command, key: key, resend: resend)
      rescue ReplyError => error
        raise translate(error, key)
      end

      # A reply of another kind comes from a server outside Redis' family, or belongs to another command: then no
      # connection that is open is used again.
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

      def increment_by_script(key, amount, ttl)
        reply = Script::INCREMENT.call(@commands, key, amount.to_s, ms(ttl), ENDLESS_ARGUMENT, ms(nil))
        expect(String, reply).to_i
      end

      # Atomic as well. Without scripts no token is compared, so the expiry that marks an endless entry may stay
      # unchanged.
      def increment_in_steps(key, amount, ttl)
        commands = [["SET", key, "0", "NX", "PX", ms(ttl)], ["INCRBY", key, amount.to_s]]
        expect(Integer, expect_all(2, @commands.transaction(commands, key: key)).last)
      end

      def guarded(key = nil)
        yield
      rescue ReplyError => error
        raise translate(error, key)
      end

      # @return [BackendError]
      def translate(error, key = nil)
        abilities.contradict(error)
        error.is_a?(BackendError) ? error : error.translated(@name, key)
      end

      # In a read of many keys, a key of a type other than String is a miss.
      def failed(replies)
        error = replies.find { |reply| reply.is_a?(Exception) && !wrong_type?(reply) }
        error && translate(error)
      end

      def wrong_type?(reply) = reply.is_a?(ReplyError) && reply.code == "WRONGTYPE"

      # Each page has its own time budget. Errors of the caller's block are not translated.
      def each_page(pattern)
        guarded { @commands.each_server }.each do |server|
          cursor = "0"
          begin
            page = guarded { server.call(["SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT]) }
            cursor, keys = expect_all(2, page)
            yield expect(Array, keys)
          end until cursor == "0"
        end
      end

      def clear_all
        guarded { @commands.flush }
        nil
      end

      def sum(texts, name) = texts.sum { |text| text[name].to_i }

      # Sends commands to a single server (or to the master that the Sentinels report).
      class Single
        # @param name [String] for errors
        # @param address [Address]
        # @param timeout [Float] seconds for one call
        # @param pool [Hash] see {Options.values}
        def initialize(name, address, timeout:, pool:)
          @address = address
          @node = Remote::Node.new(name, timeout:, pool:) { address.connection(servers: @servers) }
          @abilities = Abilities.new(self)
        end

        # @return [Abilities]
        attr_reader :abilities
        # @return [SeenServers, nil] collects the servers of the connections; must be set before the first call
        attr_accessor :servers

        # @param command [Array<String>]
        # @param key [String, nil] the key, for errors
        # @param resend [Boolean] whether the command may be sent twice
        # @return [Object] the reply
        # @raise [ReplyError]
        # @raise [BackendError]
        def call(command, key: nil, resend: true)
          reply = @node.call(key, resend: resend) { |connection, deadline| connection.call(command, deadline) }
          reply.is_a?(ReplyError) ? raise(reply) : reply
        end

        # @return [Object] the reply of any server
        def ask(command) = call(command)

        # Sends the commands in one trip.
        #
        # @param commands [Array<Array<String>>]
        # @param key [String, nil] the key, for errors
        # @return [Array<Object>] the replies, including errors
        # @raise [BackendError]
        def pipelined(commands, key: nil, resend: true)
          @node.call(key, resend: resend) { |connection, deadline| connection.call_all(commands, deadline) }
        end

        # Runs commands atomically on the server.
        #
        # @param commands [Array<Array<String>>] commands that must not be sent twice
        # @param key [String]
        # @return [Array<Object>] the replies
        # @raise [ReplyError]
        # @raise [BackendError]
        def transaction(commands, key:)
          replies = pipelined([["MULTI"], *commands, ["EXEC"]], key: key, resend: false)
          error = [*replies, *Array(replies.last)].find { |reply| reply.is_a?(ReplyError) }
          error ? raise(error) : replies.last
        end

        # @param keys [Array<String>]
        # @return [Array<String, nil>]
        def get_multi(keys) = call(["MGET", *keys])

        # @param pairs [Hash{String => String}]
        # @param ms [String] TTL
        # @return [Array<String, ReplyError>]
        def set_multi(pairs, ms) = pipelined(pairs.map { |key, bytes| ["SET", key, bytes, "PX", ms] })

        # @param keys [Array<String>]
        # @return [Array<Integer>] number of deleted keys, in parts
        def delete_multi(keys) = [call(["UNLINK", *keys])]

        # @return [void]
        def flush = call(%w[FLUSHDB ASYNC])

        # @return [Array<#call>] a callable for each server; it sends a command to that server
        def each_server = [method(:ask)]

        # @return [Array<Array(String, Integer)>] INFO and the number of keys for each server
        def infos
          replies = pipelined([["INFO"], ["DBSIZE"]])
          error = replies.find { |reply| reply.is_a?(ReplyError) }
          error ? raise(error) : [replies]
        end

        # @return [void]
        def renew
          @address.sentinels&.forget
          @abilities.forget
          @node.renew
          @servers&.forget # last, so that a caller that sees the new list also uses a connection in it
        end

        # @return [void]
        def close = @node.close
      end
    end
  end
end
