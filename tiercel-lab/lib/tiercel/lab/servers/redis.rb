# frozen_string_literal: true

require_relative "server"

module Tiercel
  module Lab
    module Servers
      # A Redis that keeps nothing on disk.
      #
      #   Redis.new(maxmemory: "64mb", policy: "allkeys-lru").start.url
      #
      # Where the environment has REDIS_SERVER, that program is started instead: another version, or a
      # Valkey. It holds for {RedisCluster} and {RedisSentinel} too.
      class Redis < Server
        PROGRAM_VARIABLE = "REDIS_SERVER"

        def self.program = "redis-server"

        # @return [String, nil] path of the executable
        # @raise [NotInstalled] if the environment names one that is not there
        def self.executable
          path = ENV.fetch(PROGRAM_VARIABLE, "")
          return super if path.empty?
          return File.realpath(path) if File.file?(path) && File.executable?(path)
          raise NotInstalled, "#{PROGRAM_VARIABLE}=#{path}: expected the path of a server's executable, such as " \
                              "/usr/bin/valkey-server"
        end

        # @param maxmemory [String, nil] in Redis' notation ("64mb"); nil: no limit
        # @param policy [String] what is evicted at the limit (maxmemory-policy)
        # @param password [String, nil] the default user's
        # @param replica_of [Redis, nil] a running master that it follows, read-only
        # @param without [Array<String>] commands that it does not know, as those of another version
        # @param options see {Server#initialize}
        def initialize(maxmemory: nil, policy: "noeviction", password: nil, replica_of: nil, without: [], **options)
          super(**options)
          @maxmemory = maxmemory
          @policy = policy
          @password = password
          @master = replica_of
          @without = without
        end

        # @return [String] "redis://HOST:PORT/0" ("rediss:" with TLS) or "unix:/path/to.sock"; the former with the
        #   password where there is one
        def url
          return "unix:#{socket}" if socket
          "#{certificate ? "rediss" : "redis"}://#{":#{@password}@" if @password}#{HOST}:#{port}/0"
        end

        # Sends one command, for what is to be said or known outside of any client.
        #
        # @param words [Array<#to_s>] such as "CONFIG", "SET", "maxmemory", "1mb"
        # @return [String, nil] the text of the answer; "OK", the number's digits, or, where it is an error or of
        #   another type, its first line as it is on the wire ("-ERR ...", "*3"); nil if nobody answered
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

        # A replica is ready when it has what its master has. Valkey also says which Redis it is compatible with.
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
