# frozen_string_literal: true

module Tiercel
  module Contracts
    module TagsContract
      # Eight processes that compute, read and invalidate, some of which are stopped and killed in the middle of a
      # block.
      module Churn
        CHURN_KEYS = 3

        # How long it goes on; a class may take longer (seconds).
        def churn_seconds = 1.0

        # The origin is a file of counts. Who invalidates raises a count and invalidates its tag, alone with it; a
        # reader looks at the count first, and must not be given anything older.
        def test_no_read_that_begins_after_an_invalidation_gives_what_was_computed_before_it
          needs_processes
          origin = Tempfile.new("tiercel-origin")
          origin.write("\0" * 8 * CHURN_KEYS)
          origin.flush
          ends = Clock.monotonic + churn_seconds
          readers = Array.new(6) { |index| process { visit(origin.path, index) until Clock.monotonic > ends } }
          others = Array.new(2) { process { invalidate(origin.path) until Clock.monotonic > ends } }
          disturb(readers.first(2), ends)
          (readers.drop(2) + others).each { |pid| Process.wait(pid) }
          assert_empty notes
        ensure
          origin&.close!
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

        # Half of the callers have leases, a third names the tags in the block.
        def visit(path, index)
          key = rand(CHURN_KEYS)
          least = with_origin(path, File::LOCK_SH) { |file| count_at(file, key) }
          @churning ||= new_store(lease: index.even?, lease_ttl: 0.3)
          value = index % 3 == 2 ? fetch_by_block(path, key) : fetch_by_call(path, key)
          note("#{value} after #{least}") if value < least
          value = @churning.read_multi("origin/#{key}").each_value.first || @churning.read("origin/#{key}")
          note("read #{value} after #{least}") if value && value < least
        end

        def fetch_by_call(path, key)
          @churning.fetch("origin/#{key}", tags: ["tag/#{key}", "all"]) { made(path, key) }
        end

        def fetch_by_block(path, key)
          @churning.fetch("origin/#{key}") do |_, options|
            options.tags = ["tag/#{key}", "all"]
            made(path, key)
          end
        end

        def made(path, key) = File.open(path) { |file| count_at(file, key) }.tap { sleep rand * 0.01 }

        def invalidate(path)
          key = rand(CHURN_KEYS)
          with_origin(path, File::LOCK_EX) do |file|
            count = count_at(file, key) + 1
            file.pwrite([count].pack("Q"), key * 8)
            sleep 0.01 until store.invalidate_tags("tag/#{key}")
          end
          sleep rand * 0.005
        end

        def with_origin(path, lock)
          File.open(path, "r+b") { |file| file.flock(lock) && yield(file) }
        end

        def count_at(file, key) = file.pread(8, key * 8).unpack1("Q")
      end
    end
  end
end
