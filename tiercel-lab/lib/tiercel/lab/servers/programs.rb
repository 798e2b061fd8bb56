# frozen_string_literal: true

module Tiercel::Lab
  module Servers
    # A memcached server.
    #
    #   Memcached.new(memory_mb: 64, max_item: "1m", threads: 2).start.url
    class Memcached < Server
      def self.program = "memcached"

      # @param memory_mb [Integer] memory for items, in MB
      # @param max_item [String] largest item, in memcached's own notation ("1m", "8m")
      # @param threads [Integer] worker threads
      # @param connections [Integer] the most simultaneous connections
      # @param options see {Server#initialize}
      def initialize(memory_mb: 64, max_item: "1m", threads: 2, connections: 1024, **options)
        super(**options)
        @memory_mb = memory_mb
        @max_item = max_item
        @threads = threads
        @connections = connections
      end

      # @return [String] "memcached://HOST:PORT" or "memcached:/path/to.sock"
      def url = socket ? "memcached:#{socket}" : "memcached://#{HOST}:#{port}"

      # @return [String] "HOST:PORT" or the socket's path, for Dalli and Rails' :mem_cache_store
      def address = socket || "#{HOST}:#{port}"

      private

      def arguments
        place = socket ? ["-s", socket] : ["-l", HOST, "-p", port.to_s, "-U", "0", *tls_arguments]
        # Without this option memcached refuses to run as root.
        user = Process.euid.zero? ? ["-u", "root"] : []
        ["-m", @memory_mb.to_s, "-I", @max_item, "-t", @threads.to_s, "-c", @connections.to_s, *place, *user]
      end

      def tls_arguments
        return [] unless certificate
        ["-Z", "-o", "ssl_chain_cert=#{certificate.file},ssl_key=#{certificate.key_file}"]
      end

      # Uses KILL alone: memcached writes nothing to disk, and takes a second to end after TERM.
      def stop_signals = %i[KILL]

      def ask_version = exchange("version\r\n") { |io| io.gets.to_s[/\AVERSION (\S+)/, 1] }
    end

    # Several memcached servers, among which a client distributes its keys.
    class MemcachedRing < Group
      # @param count [Integer] number of servers
      # @param options see {Memcached#initialize}
      def initialize(count: 3, **options)
        super()
        @nodes = Array.new(count) { Memcached.new(**options) }
      end

      # @return [String] "memcached://HOST:PORT,HOST:PORT,..."
      def url = "memcached://#{addresses.join(",")}"

      # @return [Array<String>] "HOST:PORT" of the nodes, in order
      def addresses = nodes.map(&:address)
    end

    # A PostgreSQL server with a new, empty cluster. Its user has no password.
    #
    # Unlike other servers it keeps its data after {#kill}, {#restart} and {#start}; {#stop} removes the data.
    class PostgreSQL < Server
      # PostgreSQL refuses to run as root. The lab then uses this user of Debian's package.
      ROOT_RUNS_AS = "postgres"

      def self.program = "postgres"

      def self.package = "postgresql"

      # Debian installs the programs outside of the PATH, in a folder for each version.
      def self.executable
        path = super || Dir["/usr/lib/postgresql/*/bin/postgres"].max_by { |found| found[%r{/(\d+)/bin}, 1].to_i }
        path && File.realpath(path)
      end

      # @param settings [Hash{String, Symbol => Object}] settings for postgresql.conf, such as shared_buffers: "256MB"
      # @param options see {Server#initialize}; no tls
      def initialize(settings: {}, **options)
        raise ArgumentError, "tls: not for PostgreSQL here" if options[:tls]
        super(**options)
        raise ArgumentError, "socket #{socket}: PostgreSQL names its socket itself; pass true" if socket
        @settings = settings
      end

      # @return [String] in Active Record's form
      def url
        place = socket ? "@/postgres?host=#{File.dirname(socket)}&port=#{port_number}" : "@#{HOST}:#{port}/postgres"
        "postgresql://#{user}#{place}"
      end

      # @return [String] name of the database's superuser
      def user = ROOT_RUNS_AS

      # A new server prints this while processes of a killed one still run.
      STILL_THERE = /pre-existing shared memory block/
      private_constant :STILL_THERE

      private

      def launch
        deadline = now + START_SECONDS
        begin
          super
        rescue Error
          raise unless log.match?(STILL_THERE) && now < deadline
          sleep 0.05
          retry
        end
      end

      def prepare
        super
        create_cluster unless File.exist?(File.join(data, "PG_VERSION"))
      end

      def data = File.join(folder, "data")

      # With a socket, PostgreSQL uses the number in the socket's name only.
      def port_number = port || 5432

      def choose_socket
        @socket = File.join(folder, ".s.PGSQL.#{port_number}")
        super
      end

      def create_cluster
        FileUtils.chown(ROOT_RUNS_AS, nil, folder) if Process.euid.zero?
        command = [program("initdb"), "--pgdata", data, "--username", user, "--auth", "trust", "--encoding", "UTF8",
                   "--no-sync"]
        output, status = Open3.capture2e(*as_user, *command, chdir: "/")
        raise Error, "initdb failed:\n#{output}" unless status.success?
      end

      def program(name) = File.join(File.dirname(self.class.executable), name)

      def as_user
        return [] unless Process.euid.zero?
        account = Etc.getpwnam(ROOT_RUNS_AS)
        ["setpriv", "--reuid", account.uid.to_s, "--regid", account.gid.to_s, "--clear-groups"]
      end

      def pinned = [*super, *as_user]

      def arguments
        settings = { listen_addresses: socket ? "" : HOST, unix_socket_directories: folder, **@settings }
        ["-D", data, "-p", port_number.to_s, *settings.flat_map { |name, value| ["-c", "#{name}=#{value}"] }]
      end

      def ask_version
        place = socket ? File.dirname(socket) : HOST
        _, status = Open3.capture2e(program("pg_isready"), "-q", "-h", place, "-p", port_number.to_s)
        File.read(File.join(data, "PG_VERSION")).chomp if status.success?
      end

      # INT ends the sessions, writes a checkpoint, and stops. TERM would wait for the sessions.
      def stop_signals = %i[INT KILL]
    end

    # A Redis server that writes nothing to disk.
    #
    #   Redis.new(maxmemory: "64mb", policy: "allkeys-lru").start.url
    #
    # The environment variable REDIS_SERVER names another program: another version, or Valkey. The variable applies to
    # {RedisCluster} and {RedisSentinel} too.
    class Redis < Server
      PROGRAM_VARIABLE = "REDIS_SERVER"

      def self.program = "redis-server"

      # @return [String, nil] path of the executable
      # @raise [NotInstalled] if the program of the variable does not exist
      def self.executable
        path = ENV.fetch(PROGRAM_VARIABLE, "")
        return super if path.empty?
        return File.realpath(path) if File.file?(path) && File.executable?(path)
        raise NotInstalled, "#{PROGRAM_VARIABLE}=#{path}: expected the path of a server's executable, such as " \
                            "/usr/bin/valkey-server"
      end

      # @param maxmemory [String, nil] in Redis' notation ("64mb"); nil: no limit
      # @param policy [String] eviction policy at the limit (maxmemory-policy)
      # @param password [String, nil] the default user's
      # @param replica_of [Redis, nil] a running master to replicate
      # @param without [Array<String>] commands that the server refuses, as another version would
      # @param options see {Server#initialize}
      def initialize(maxmemory: nil, policy: "noeviction", password: nil, replica_of: nil, without: [], **options)
        super(**options)
        @maxmemory = maxmemory
        @policy = policy
        @password = password
        @master = replica_of
        @without = without
      end

      # @return [String] "redis://HOST:PORT/0" ("rediss:" with TLS) with the password, if there is one, or
      #   "unix:/path/to.sock"
      def url
        return "unix:#{socket}" if socket
        "#{certificate ? "rediss" : "redis"}://#{":#{@password}@" if @password}#{HOST}:#{port}/0"
      end

      # Sends a command without a client library.
      #
      # @param words [Array<#to_s>] such as "CONFIG", "SET", "maxmemory", "1mb"
      # @return [String, nil] the text of the answer: "OK", the digits of a number, a String; the first line of an
      #   error or of another type as it is on the wire ("-ERR ...", "*3"); nil without an answer
      def command(*words)
        login = @password ? encode(["AUTH", @password]) : ""
        exchange(login + encode(words)) do |io|
          io.gets if @password
          read_answer(io)
        end
      end

      private

      def arguments
        limit = @maxmemory ? ["--maxmemory", @maxmemory] : []
        password = @password ? ["--requirepass", @password] : []
        [*place, *replication, "--daemonize", "no", "--save", "", "--appendonly", "no", "--dir", folder,
         "--repl-diskless-sync-delay", "0",
         *limit, "--maxmemory-policy", @policy, *password,
         *@without.flat_map { |name| ["--rename-command", name, ""] }]
      end

      def place
        return ["--port", "0", "--unixsocket", socket] if socket
        return ["--port", port.to_s, "--bind", HOST] unless certificate
        ["--port", "0", "--tls-port", port.to_s, "--bind", HOST, "--tls-cert-file", certificate.file,
         "--tls-key-file", certificate.key_file, "--tls-ca-cert-file", certificate.file, "--tls-auth-clients", "no"]
      end

      def replication
        @master ? ["--replicaof", HOST, @master.port.to_s, "--replica-read-only", "yes"] : []
      end

      # A replica is ready when it has its master's data. Valkey also reports the compatible version of Redis.
      def ask_version
        return if @master && !command("INFO", "replication").to_s.include?("master_link_status:up")
        said = command("INFO", "server").to_s.scan(/^(\w+)_version:(\S+)/).to_h
        said.key?("valkey") ? "Valkey #{said["valkey"]}" : said["redis"]
      end

      def read_answer(io)
        line = io.gets&.chomp
        case line&.slice(0)
        when "+", ":" then line[1..]
        when "$" then line == "$-1" ? nil : io.read(line[1..].to_i)
        else line
        end
      end

      def encode(words)
        "*#{words.size}\r\n#{words.map { |word| "$#{word.to_s.bytesize}\r\n#{word}\r\n" }.join}"
      end
    end

    # A Redis Cluster of masters without replicas. The masters share the 16,384 slots equally.
    class RedisCluster < Group
      # From the Redis Cluster specification.
      SLOTS = 16_384
      JOIN_SECONDS = 30

      # One master: a Redis in cluster mode, with a port for the cluster's bus.
      class Node < Redis
        # @return [Integer] port of the cluster's bus
        attr_reader :bus_port

        # @param node_timeout_ms [Integer] silence after which the other nodes mark the node as failed
        # @param options see {Redis#initialize}
        def initialize(node_timeout_ms: 2_000, **options)
          super(**options)
          @node_timeout_ms = node_timeout_ms
        end

        private

        def arguments
          @bus_port ||= free_port
          super + ["--cluster-enabled", "yes", "--cluster-config-file", File.join(folder, "nodes.conf"),
                   "--cluster-port", @bus_port.to_s, "--cluster-node-timeout", @node_timeout_ms.to_s]
        end
      end

      # @param count [Integer] number of masters, at least 3 (Redis' minimum)
      # @param options see {Node#initialize}; no socket
      def initialize(count: 3, **options)
        raise ArgumentError, "count #{count.inspect}: a Redis Cluster has at least 3 masters" if count < 3
        raise ArgumentError, "socket: a Redis Cluster has TCP ports only" if options[:socket]
        super()
        @nodes = Array.new(count) { Node.new(**options) }
      end

      # @return [String] "redis+cluster://HOST:PORT,HOST:PORT,..."
      def url = "redis+cluster://#{nodes.map { |node| "#{Server::HOST}:#{node.port}" }.join(",")}"

      private

      # Waits until the masters have their slots and every master reports a healthy cluster. After a restart the
      # masters know their slots and each other.
      def wait_until_ready
        join unless joined?
        wait_until_well
      end

      def join
        first = nodes.first
        nodes.each_with_index do |node, index|
          expect_ok node, "CLUSTER", "ADDSLOTSRANGE", *slots(index)
          expect_ok node, "CLUSTER", "SET-CONFIG-EPOCH", index + 1
        end
        nodes.drop(1).each { |node| expect_ok node, "CLUSTER", "MEET", Server::HOST, first.port, first.bus_port }
      end

      # @return [Array(Integer, Integer)] first and last slot of a master
      def slots(index) = [index * SLOTS / nodes.size, ((index + 1) * SLOTS / nodes.size) - 1]

      def expect_ok(node, *words)
        answer = node.command(*words)
        raise Error, "#{node} answered #{answer.inspect} to #{words.join(" ")}" unless answer == "OK"
      end

      def joined? = info(nodes.first)["cluster_slots_assigned"] != "0"

      def wait_until_well
        deadline = now + JOIN_SECONDS
        until nodes.all? { |node| well?(node) }
          raise Error, "Redis Cluster at #{url}: not healthy within #{JOIN_SECONDS} s\n#{report}" if now > deadline
          sleep 0.02
        end
      end

      def well?(node)
        state = info(node)
        state["cluster_state"] == "ok" && state["cluster_known_nodes"] == nodes.size.to_s &&
          state["cluster_slots_ok"] == SLOTS.to_s
      end

      def info(node) = node.command("CLUSTER", "INFO").to_s.scan(/^(\w+):(\S+)/).to_h

      def report = nodes.map { |node| "#{node}: #{info(node)}" }.join("\n")

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # A Redis master with a replica, and a Sentinel that promotes the replica when the master fails.
    class RedisSentinel < Group
      # The master's name for clients.
      NAME = "tiercel"
      READY_SECONDS = 30

      # A Redis in Sentinel mode, with a configuration file that it rewrites itself.
      class Sentinel < Redis
        # @param master [Redis] running
        # @param down_after_ms [Integer] silence after which the master counts as failed
        def initialize(master:, down_after_ms:, **options)
          super(**options)
          @watched = master
          @down_after_ms = down_after_ms
        end

        private

        def arguments
          path = File.join(folder, "sentinel.conf")
          File.write(path, <<~CONFIGURATION)
            port #{port}
            bind #{HOST}
            dir #{folder}
            sentinel monitor #{NAME} #{HOST} #{@watched.port} 1
            sentinel down-after-milliseconds #{NAME} #{@down_after_ms}
            sentinel failover-timeout #{NAME} 5000
          CONFIGURATION
          [path, "--sentinel"]
        end
      end

      # @return [Redis] the first master, and the first replica
      attr_reader :master, :replica
      # @return [Sentinel]
      attr_reader :sentinel

      # @param down_after_ms [Integer] silence after which the master counts as failed
      def initialize(down_after_ms: 500)
        super()
        @master = Redis.new
        @replica = Redis.new(replica_of: @master)
        @sentinel = Sentinel.new(master: @master, down_after_ms: down_after_ms)
        @nodes = [@master, @replica, @sentinel]
      end

      # Kills the master and waits until the Sentinel has promoted the replica.
      #
      # @return [self]
      def fail_over
        master.kill
        wait_until("the replica to become master") do
          replica.command("INFO", "replication").to_s.include?("role:master")
        end
        self
      end

      # @return [String] "HOST:PORT" of the Sentinel
      def address = "#{Server::HOST}:#{sentinel.port}"

      # @return [String] the master's name for clients
      def name = NAME

      private

      # Waits until the Sentinel knows the replica.
      def wait_until_ready
        wait_until("the Sentinel to know the replica") { masters_info.include?("slaves=1") }
      end

      def masters_info = sentinel.command("INFO", "sentinel").to_s

      def wait_until(what)
        deadline = now + READY_SECONDS
        until yield
          raise Error, "waited #{READY_SECONDS} s for #{what}\n#{masters_info}" if now > deadline
          sleep 0.02
        end
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
