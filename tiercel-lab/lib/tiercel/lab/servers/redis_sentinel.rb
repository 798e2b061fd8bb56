# frozen_string_literal: true

require_relative "group"
require_relative "redis"

module Tiercel
  module Lab
    module Servers
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
end
