# frozen_string_literal: true

require "contracts/origin"

module Tiercel
  module Contracts
    module TagsContract
      # Eight processes compute, read and invalidate; some of them are stopped or killed in the middle of a block.
      module Churn
        include Origin

        # Duration in seconds; an including class may extend it.
        def churn_seconds = 1.0

        # A writer increments a count and invalidates its tag, while it holds the origin's lock.
        def test_no_read_that_begins_after_an_invalidation_gives_what_was_computed_before_it
          needs_processes
          with_origin do |path|
            ends = Clock.monotonic + churn_seconds
            readers = Array.new(6) { |index| process { visit(path, index) until Clock.monotonic > ends } }
            others = Array.new(2) { process { invalidate(path) until Clock.monotonic > ends } }
            disturb(readers.first(2), ends)
            (readers.drop(2) + others).each { |pid| Process.wait(pid) }
            assert_empty notes
          end
        end

        private

        def disturb((killed, stopped), ends)
          sleep churn_seconds / 3
          end_process(killed)
          while Clock.monotonic < ends
            Process.kill(:STOP, stopped)
            sleep 0.1
            Process.kill(:CONT, stopped)
            sleep 0.05
          end
        end

        # Half of the callers use leases, and a third sets the tags in the block.
        def visit(path, index)
          key = rand(ORIGIN_KEYS)
          least = least_count(path, key)
          @churning ||= new_store(lease: index.even?, lease_ttl: 0.3)
          value = index % 3 == 2 ? fetch_by_block(path, key) : fetch_by_call(path, key)
          note("#{value} after #{least}") if value < least
          value = @churning.read_multi("origin/#{key}").each_value.first || @churning.read("origin/#{key}")
          note("read #{value} after #{least}") if value && value < least
        end

        def fetch_by_call(path, key)
          @churning.fetch("origin/#{key}", tags: ["tag/#{key}", "all"]) { made_count(path, key) }
        end

        def fetch_by_block(path, key)
          @churning.fetch("origin/#{key}") do |_, options|
            options.tags = ["tag/#{key}", "all"]
            made_count(path, key)
          end
        end

        def invalidate(path)
          key = rand(ORIGIN_KEYS)
          raise_count(path, key) { eventually { store.invalidate_tags("tag/#{key}") } }
        end
      end
    end
  end
end
