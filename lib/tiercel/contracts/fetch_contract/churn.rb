# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Many processes that read and invalidate, some of which are stopped and killed in the middle of a block.
      module Churn
        CHURN_KEYS = 3

        # How long it goes on; a class may take longer (seconds).
        def churn_seconds = 1.0

        # The origin is a file of counts. Who invalidates raises a count and deletes, alone with it; a reader looks at
        # the count first, and must not be given anything older.
        def test_no_process_is_given_what_was_computed_before_an_invalidation
          needs_processes
          origin = Tempfile.new("tiercel-origin")
          origin.write("\0" * 8 * CHURN_KEYS)
          origin.flush
          ends = Clock.monotonic + churn_seconds
          readers = Array.new(6) { process { read_origin(origin.path) until Clock.monotonic > ends } }
          others = Array.new(2) { process { invalidate(origin.path) until Clock.monotonic > ends } }
          disturb(readers.first(2), ends)
          (readers.drop(2) + others).each { |pid| Process.wait(pid) }
          assert_empty notes
        ensure
          origin&.close!
        end

        private

        # One is killed, with the lease if it has one; the other is stopped again and again.
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

        def read_origin(path)
          key = rand(CHURN_KEYS)
          least = with_origin(path, File::LOCK_SH) { |file| count_at(file, key) }
          churning = @churning ||= new_store(lease_ttl: 0.3)
          value = churning.fetch("origin/#{key}") do
            File.open(path) { |file| count_at(file, key) }.tap { sleep rand(0.01) }
          end
          note("#{value} after #{least}") if value < least
        end

        def invalidate(path)
          key = rand(CHURN_KEYS)
          with_origin(path, File::LOCK_EX) do |file|
            count = count_at(file, key) + 1
            file.pwrite([count].pack("Q"), key * 8)
            store.delete("origin/#{key}")
          end
          sleep rand(0.005)
        end

        def with_origin(path, lock)
          File.open(path, "r+b") { |file| file.flock(lock) && yield(file) }
        end

        def count_at(file, key) = file.pread(8, key * 8).unpack1("Q")
      end
    end
  end
end
