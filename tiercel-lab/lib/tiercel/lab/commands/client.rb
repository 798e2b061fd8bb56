# frozen_string_literal: true

require_relative "../documents/client"
require_relative "../runner/job_process"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # The fourth article's benchmark: what a client adds to the socket it writes to.
      class Client < TableCommand
        called "client",
               "Clients against a raw socket: get, set, get_multi, set_multi, delete_multi, one server and two."
        example "client --quick", "client --op client_set --server memcached",
                "client --client dalli#bundle=/path/to/my.gemfile",
                "client --value html-822kb --op client_get,client_set"

        OPERATIONS = %w[client_get client_set client_get_multi client_set_multi client_delete_multi].freeze
        # A raw socket and who competes with it, by the servers they speak to.
        CLIENTS = { "memcached" => %w[dalli dalli#version=3.2 backend:memcached],
                    "ring" => %w[dalli:ring dalli:ring#version=3.2 backend:ring],
                    "redis" => %w[redis_client redis_client#driver=:hiredis redis_client#version=0.22 redis_gem
                                 backend:redis] }.freeze
        VALUES = %w[string-100b string-1kb html-822kb].freeze
        # From the default (one memcached, 1 KB) one factor at a time: its operations, then other servers.
        QUICK_OPERATIONS = { "memcached" => OPERATIONS, "ring" => %w[client_get client_get_multi],
                             "redis" => %w[client_get client_get_multi] }.freeze
        QUICK_VALUE = "string-1kb"
        QUICK_BLOCKS = 3
        # 36 comparisons of workers with bundles of their own.
        FULL = Protocol::FULL.vary(processes: 4, most_processes: 8, blocks: 3, budget_seconds: 240)

        def self.document(results, command:) = Documents::Client.new(results, command:).build

        def options(parser)
          parser.on("--client CLIENT", "repeatable: dalli, redis_client, redis_gem, backend:memcached, backend:redis;",
                    "dalli:ring or backend:ring; #version=X or #bundle=FILE") { |text| add_client(text) }
          parser.on("--server A,B", Array, "of #{CLIENTS.keys.join(", ")}") do |names|
            @servers = names.each { |name| known(name, CLIENTS.keys) }
          end
          parser.on("--op A,B", Array, "of #{OPERATIONS.join(", ")}") do |names|
            @operations = names.each { |name| known(name, OPERATIONS) }
          end
          parser.on("--value A,B", Array, "of #{Values.names.join(", ")}") do |names|
            @values = names.map { |name| Values.fetch(name) }
          end
        end

        def plan
          chosen_values.flat_map do |value|
            servers.flat_map do |server|
              operations(server).map { |name| Operations.fetch(name) }
                                .reject { |operation| operation.unsuitable(value) }
                                .map { |operation| comparison(value, server, operation) }
            end
          end
        end

        def take(comparisons)
          @measurement = session.measure(comparisons, protocol:)
          session.recorder.table("versions", versions(comparisons))
        end

        private

        def protocol = settings.quick ? settings.protocol.vary(blocks: QUICK_BLOCKS) : FULL

        def add_client(text)
          contestant = Contestants.parse(text)
          raise UsageError, "--client #{text}: not a client" unless contestant.kind == :client
          (@clients ||= []) << contestant
        end

        def known(name, names)
          names.include?(name) or raise UsageError, "#{name.inspect}: expected of #{names.join(", ")}"
        end

        def servers
          return @servers if @servers
          @clients ? CLIENTS.keys.select { |name| clients(name).any? } : CLIENTS.keys
        end

        def operations(server) = @operations || (settings.quick ? QUICK_OPERATIONS.fetch(server) : OPERATIONS)

        def chosen_values
          return [Values::Files.new(directory: settings.data)] if settings.data
          @values || (settings.quick ? [QUICK_VALUE] : VALUES).map { |name| Values.fetch(name) }
        end

        def clients(server)
          wanted = raw(server).servers
          known = @clients || CLIENTS.fetch(server).map { |text| Contestants.parse(text) }
          known.select { |client| client.servers == wanted }
        end

        def raw(server) = Contestants.parse("raw:#{server}")

        # The raw socket is the baseline; a call that does nothing is the loop.
        def comparison(value, server, operation)
          baseline = raw(server)
          between = Comparison.between(value:, baseline: [baseline, operation],
                                       others: clients(server).map { |client| [client, operation] })
          nothing = ArmSpec.new(id: between.arms.size, contestant: baseline, role: :loop, twin_of: nil,
                                operation: Operations.fetch("client_loop"))
          Comparison.new(value:, arms: [*between.arms, nothing])
        end

        # Of each bundle that took part.
        def versions(comparisons)
          comparisons.flat_map { |comparison| comparison.bundles.keys }.uniq.filter_map do |name|
            job = Runner::JobProcess.new("client/versions", bundle: Runner::Bundle.new(name)).start
            { "bundle" => name, "gems" => job.call("gems") }
          rescue CannotRun, WorkerLost
            nil # its rows say why
          ensure
            job&.stop
          end
        end
      end

      add Client
    end
  end
end
