# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Many processes that read, write and invalidate, some of which are stopped and killed in the middle of a block.
      module Churn
        CHURN_KEYS = 3

        # How long it goes on; a class may take longer (seconds).
        def churn_seconds = 1.0

        # The origin is a file of counts. Who changes one raises it, and deletes or writes, alone with it; a reader
        # looks at the count first, and must not be given anything older.
        def test_no_process_is_given_what_was_computed_before_an_invalidation
          needs_processes
          origin = Tempfile.new("tiercel-origin")
          origin.write("\0" * 8 * CHURN_KEYS)
          origin.flush
          ends = Clock.monotonic + churn_seconds
          readers = Array.new(5) { process { read_origin(origin.path) until Clock.monotonic > ends } }
          others = %i[delete delete_multi write].map do |way|
            process { change_origin(origin.path, way) until Clock.monotonic > ends }
          end
          disturb(readers.first(2), ends) { process { read_origin(origin.path) until Clock.monotonic > ends } }
          wait_for(readers.drop(1) + others)
          @pids.each { |pid| end_process(pid) }
          assert_empty notes
        ensure
          origin&.close!
        end

        private

        # One is killed again and again, with the lease if it has one, and another comes in its place; one is stopped.
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
          key = rand(CHURN_KEYS)
          least = with_origin(path, File::LOCK_SH) { |file| count_at(file, key) }
          churning = @churning ||= new_store(lease_ttl: 0.3)
          value = fetch_origin(churning, "origin/#{key}") do
            File.open(path) { |file| count_at(file, key) }.tap { sleep rand * 0.01 }
          end
          note("#{value} after #{least}") if value < least
        end

        def fetch_origin(churning, name, &block)
          rand(2).zero? ? churning.fetch(name, &block) : churning.fetch_multi(name, &block).fetch(name)
        end

        # A process that is stopped in here keeps all others from the origin, so none is stopped that changes it.
        def change_origin(path, way)
          key = rand(CHURN_KEYS)
          with_origin(path, File::LOCK_EX) do |file|
            count = count_at(file, key) + 1
            file.pwrite([count].pack("Q"), key * 8)
            change_cache(way, "origin/#{key}", count)
          end
          sleep rand * 0.005
        end

        def change_cache(way, name, count)
          case way
          when :write then store.write(name, count)
          when :delete then store.delete(name)
          else store.delete_multi([name])
          end
        end

        def with_origin(path, lock)
          File.open(path, "r+b") { |file| file.flock(lock) && yield(file) }
        end

        def count_at(file, key) = file.pread(8, key * 8).unpack1("Q")
      end
    end
  end
end
