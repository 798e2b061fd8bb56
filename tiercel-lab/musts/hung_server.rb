# frozen_string_literal: true

require "active_support"
require "active_support/cache"
require "tiercel/lab/errors"
require "tiercel/lab/servers"

module Tiercel
  module Lab
    module Tables
      module Musts
        # Measures how long a store's calls take while its server hangs (SIGSTOP): the whole time budget, and almost no
        # time once the circuit breaker is open.
        #
        #   HungServer.new(:memcached).calls        # => seconds of each call that reaches for the server
        #   HungServer.new(:redis).open_calls       # => seconds of each call that the open breaker answers
        class HungServer
          SERVERS = { memcached: Servers::Memcached, redis: Servers::Redis }.freeze
          OPERATIONS = {
            read: ->(store) { store.read("key") },
            fetch: ->(store) { store.fetch("key") { "value" } },
            write: ->(store) { store.write("key", "value") },
            delete: ->(store) { store.delete("key") },
            increment: ->(store) { store.increment("counter") },
            read_multi: ->(store) { store.read_multi("a", "b") },
          }.freeze
          # Calls of each operation: each on a used connection and on a new one.
          ROUNDS = 2
          OPEN_CALLS = 2_000
          # A number of failures that opens the breaker. A slower call than this has tried the server.
          FAILURES = 6
          ASKED_SECONDS = 0.2
          # Longer than the measurement, so that the breaker does not try the server during it.
          COOL_DOWN_SECONDS = 600

          # @param kind [Symbol] :memcached or :redis
          def initialize(kind)
            @server_class = SERVERS.fetch(kind)
          end

          # A fetch calls the server twice, to read and to write, each with the whole budget.
          #
          # @return [Hash{Symbol => Array<Float>}] seconds for one call of the server, by operation
          def calls
            hung(breaker: false) do |store, fresh|
              OPERATIONS.to_h do |name, operation|
                times = Array.new(ROUNDS) { [time(store, operation), time(fresh.call, operation)] }.flatten
                [name, name == :fetch ? times.map { |seconds| seconds / 2 } : times]
              end
            end
          end

          # Without garbage collection, which is not part of the breaker's cost.
          #
          # @return [Hash{Symbol => Array<Float>}] seconds, by operation
          # @raise [CannotRun] if the breaker does not open
          def open_calls
            hung(breaker: { cool_down: COOL_DOWN_SECONDS, max_cool_down: COOL_DOWN_SECONDS }) do |store, _|
              asked = Array.new(FAILURES) { time(store, OPERATIONS[:read]) }
              if asked.last > ASKED_SECONDS
                raise CannotRun,
                  "the breaker is not open after #{FAILURES} failures: the last call took #{asked.last} s"
              end
              OPERATIONS.transform_values do |operation|
                without_collection { Array.new(OPEN_CALLS) { time(store, operation) } }
              end
            end
          end

          private

          def hung(**options)
            @server_class.run do |server|
              build = -> { ActiveSupport::Cache.lookup_store(:tiercel_store, server.url, **options) }
              store = build.call
              OPERATIONS.each_value { |operation| operation.call(store) }
              server.pause
              yield store, build
            ensure
              server.resume
            end
          end

          def without_collection
            GC.start
            GC.disable
            yield
          ensure
            GC.enable
          end

          def time(store, operation)
            start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
            operation.call(store)
            Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
          end
        end
      end
    end
  end
end
