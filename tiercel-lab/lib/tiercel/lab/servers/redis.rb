# frozen_string_literal: true

require_relative "server"

module Tiercel
  module Lab
    module Servers
      # A Redis that keeps nothing on disk.
      #
      #   Redis.new(maxmemory: "64mb", policy: "allkeys-lru").start.url
      class Redis < Server
        def self.program = "redis-server"

        # @param maxmemory [String, nil] in Redis' notation ("64mb"); nil: no limit
        # @param policy [String] what is evicted at the limit (maxmemory-policy)
        # @param password [String, nil] the default user's
        # @param options see {Server#initialize}
        def initialize(maxmemory: nil, policy: "noeviction", password: nil, **options)
          super(**options)
          @maxmemory = maxmemory
          @policy = policy
          @password = password
        end

        # @return [String] "redis://HOST:PORT/0" or "unix:/path/to.sock", with the password where there is one
        def url
          return "unix:#{socket}" if socket
          "redis://#{":#{@password}@" if @password}#{HOST}:#{port}/0"
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
          place = socket ? ["--port", "0", "--unixsocket", socket] : ["--port", port.to_s, "--bind", HOST]
          limit = @maxmemory ? ["--maxmemory", @maxmemory] : []
          password = @password ? ["--requirepass", @password] : []
          [*place, "--daemonize", "no", "--save", "", "--appendonly", "no", "--dir", folder,
           *limit, "--maxmemory-policy", @policy, *password]
        end

        def ask_version = command("INFO", "server")&.slice(/^redis_version:(\S+)/, 1)

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
