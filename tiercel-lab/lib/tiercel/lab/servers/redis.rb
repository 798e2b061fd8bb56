# frozen_string_literal: true

require_relative "server"

module Tiercel
  module Lab
    module Servers
      # A Redis server that writes nothing to disk.
      #
      #   Redis.new(maxmemory: "64mb", policy: "allkeys-lru").start.url
      #
      # The environment variable REDIS_SERVER names another program: another version, or Valkey. It applies to
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
    end
  end
end
