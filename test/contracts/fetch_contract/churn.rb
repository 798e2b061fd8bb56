# frozen_string_literal: true

require "contracts/origin"

module Tiercel
  module Contracts
    module FetchContract
      # Many processes read, write and invalidate; some of them are stopped or killed in the middle of a block.
      module Churn
        include Origin

        # Duration in seconds; an including class may extend it.
        def churn_seconds = 1.0

        # A writer changes a count and deletes or writes the key, while it holds the origin's lock.
        def test_no_process_is_given_what_was_computed_before_an_invalidation
          needs_processes
          with_origin do |path|
            ends = Clock.monotonic + churn_seconds
            readers = Array.new(5) { process { read_origin(path) until Clock.monotonic > ends } }
            others = %i[delete delete_multi write].map do |way|
              process { change_origin(path, way) until Clock.monotonic > ends }
            end
            disturb(readers.first(2), ends) { process { read_origin(path) until Clock.monotonic > ends } }
            wait_for(readers.drop(1) + others)
            @pids.each { |pid| end_process(pid) }
            assert_empty notes
          end
        end

        private

        # One process is repeatedly killed, sometimes with a lease, and replaced by another; one process is stopped.
        def disturb((killed, stopped), ends)
          sleep churn_seconds / 3
          while Clock.monotonic < ends
            end_process(killed)
            killed = yield
            Process.kill(:STOP, stopped)
            sleep rand(0.05..0.4)
            Process.kill(:CONT, stopped)
            sleep rand * 0.1
          end
        end

        def read_origin(path)
          key = rand(ORIGIN_KEYS)
          least = least_count(path, key)
          churning = @churning ||= new_store(lease_ttl: 0.3)
          value = fetch_origin(churning, "origin/#{key}") { made_count(path, key) }
          note("#{value} after #{least}") if value < least
        end

        def fetch_origin(churning, name, &block)
          rand(2).zero? ? churning.fetch(name, &block) : churning.fetch_multi(name, &block).fetch(name)
        end

        # A process stopped inside the lock would block all others, so only processes that do not change the origin
        # are stopped.
        def change_origin(path, way)
          key = rand(ORIGIN_KEYS)
          raise_count(path, key) { |count| change_cache(way, "origin/#{key}", count) }
        end

        def change_cache(way, name, count)
          case way
          when :write then store.write(name, count)
          when :delete then store.delete(name)
          else store.delete_multi([name])
          end
        end
      end
    end
  end
end
