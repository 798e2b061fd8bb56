# frozen_string_literal: true

require "active_support"
require "active_support/cache"
require "tiercel/lab/errors"
require "tiercel/lab/servers"

module Tiercel
  module Lab
    module Tables
      module Musts
        # How long a store's calls take while its server hangs (SIGSTOP): all of its default budget, and nearly nothing
        # once the circuit breaker is open.
        #
        #   HungServer.new(:memcached).calls        # => seconds of each call that asks the server
        #   HungServer.new(:redis).open_calls       # => seconds of each call that the open breaker saves
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
          # Of each operation, on a connection that was used before and on a new one.
          ROUNDS = 2
          OPEN_CALLS = 2_000
          # More than the breaker waits for. What takes longer than this has asked the server.
          FAILURES = 6
          ASKED_SECONDS = 0.2
          # Longer than the measurement, so that no call of it is a probe.
          COOL_DOWN_SECONDS = 600

          # @param kind [Symbol] :memcached or :redis
          def initialize(kind)
            @server_class = SERVERS.fetch(kind)
          end

          # A fetch makes two calls of the server, to read and to write, each with the budget.
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

          # With garbage collection off: what it takes of a call is counted for itself, as in all of the lab's figures.
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
