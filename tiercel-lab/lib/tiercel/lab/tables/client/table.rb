# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # The benchmark of the fourth article: the time that a client adds to its socket.
      module Client
        class Table < Tables::Table
          called "client", "Clients against a raw socket, one server and two."
          example "client --quick", "client --op client_set --server memcached",
                  "client --client dalli#bundle=/path/to/my.gemfile",
                  "client --value html-822kb --op client_get,client_set"
          takes :quick, :seed, :cells, :data
          in_all 80, weight: 2 # a busy machine leaves its cells undecided longest
          quick processes: 6, blocks: 3
          # There are 36 comparisons, and workers have bundles of their own.
          full processes: 4, most_processes: 8, blocks: 3, budget_seconds: 240

          OPERATIONS = %w[client_get client_set client_get_multi client_set_multi client_delete_multi].freeze
          # The clients to compare with a raw socket, by their servers.
          CLIENTS = { "memcached" => %w[dalli dalli#version=3.2 backend:memcached],
                      "ring" => %w[dalli:ring dalli:ring#version=3.2 backend:ring],
                      "redis" => %w[redis_client redis_client#driver=:hiredis redis_client#version=0.22 redis_gem
                                    backend:redis] }.freeze
          VALUES = %w[string-100b string-1kb html-822kb].freeze
          # A quick run varies one factor at a time from the default (one memcached, 1 KB): operations, then servers.
          QUICK_OPERATIONS = { "memcached" => OPERATIONS, "ring" => %w[client_get client_get_multi],
                               "redis" => %w[client_get client_get_multi] }.freeze
          QUICK_VALUES = %w[string-1kb].freeze

          def options(parser)
            parser.on("--client CLIENT",
                      "repeatable: dalli, redis_client, redis_gem, backend:memcached, backend:redis; " \
                                         "dalli:ring or backend:ring; #version=X or #bundle=FILE") do |text|
              add_client(text)
            end
            names parser, "--server", CLIENTS, :servers
            names parser, "--op", OPERATIONS, :operations
            value_option(parser)
          end

          def plan
            chosen_values(settings.quick ? QUICK_VALUES : VALUES).flat_map do |value|
              servers.flat_map do |server|
                operations(server).map { |name| Operations.fetch(name) }
                                  .reject { |operation| operation.unsuitable(value) }
                                  .map { |operation| comparison(value, server, operation) }
              end
            end
          end

          def take(comparisons)
            super
            run.table("versions", versions(comparisons))
          end

          private

          def add_client(text)
            contestant = Contestants.parse(text)
            raise UsageError, "--client #{text}: not a client" unless contestant.kind == :client
            (@clients ||= []) << contestant
          end

          def servers = facts_given.fetch(:servers) { CLIENTS.keys.select { |name| clients(name).any? } }

          def operations(server)
            facts_given.fetch(:operations) { settings.quick ? QUICK_OPERATIONS.fetch(server) : OPERATIONS }
          end

          def clients(server)
            wanted = raw(server).servers
            (@clients || parse_all(CLIENTS.fetch(server))).select { |client| client.servers == wanted }
          end

          def raw(server) = Contestants.parse("raw:#{server}")

          # The raw socket is the baseline; a call that does nothing is the loop.
          def comparison(value, server, operation)
            baseline = raw(server)
            between = Engine::Comparison.between(value:, baseline: [baseline, operation],
                                                 others: clients(server).map { |client| [client, operation] })
            nothing = Engine::ArmSpec.new(id: between.arms.size, contestant: baseline, role: :loop, twin_of: nil,
                                          operation: Operations.fetch("client_loop"))
            Engine::Comparison.new(value:, arms: [*between.arms, nothing])
          end

          # The gem versions of each bundle in the run.
          def versions(comparisons)
            comparisons.flat_map { |comparison| comparison.bundles.keys }.uniq.filter_map do |name|
              job = Engine::Job.new("engine/worker", bundle: Engine::Bundle.new(name)).start
              { "bundle" => name, "gems" => job.call("hello")["gems"] }
            rescue CannotRun, WorkerLost
              nil # its rows say why
            ensure
              job&.stop
            end
          end
        end
      end

      add Client::Table
    end
  end
end
