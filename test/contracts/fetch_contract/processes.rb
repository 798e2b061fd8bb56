# frozen_string_literal: true

require "tempfile"

module Tiercel
  module Contracts
    module FetchContract
      # Seconds within which every unbounded wait ends, even on a busy machine.
      PATIENCE = 40

      # Starts other processes and collects their notes: lines in a file to which all of them append.
      module Processes
        def after_teardown
          (@pids ||= []).each { |pid| end_process(pid) }
          @diary&.close!
          @diary = @pids = nil
          super
        end

        private

        def needs_processes
          skip "#{store.backend} is of one process" unless across_processes?
          skip "this platform cannot fork" unless Process.respond_to?(:fork)
        end

        # Notes an event; any process may call it.
        def note(line)
          diary.syswrite("#{line}\n")
          line
        end

        # @return [Array<String>] the notes of all processes
        def notes = File.readlines(diary.path, chomp: true)

        # Must be opened before a process is forked.
        def diary = @diary ||= Tempfile.new("tiercel-fetch").tap { |file| file.sync = true }

        # @return [Integer] the pid of a process that runs the block and exits
        def process
          diary
          pid = fork do
            yield
          rescue Exception => error # rubocop:disable Lint/RescueException
            note("failed: #{error.class}: #{error.message} #{error.backtrace.first(3)}")
          ensure
            exit!(0)
          end
          (@pids ||= []) << pid
          pid
        end

        # Runs the block in `count` concurrent processes, and waits for all of them.
        def in_processes(count)
          store
          calls = @calls = Tempfile.new("tiercel-calls").tap { |file| file.sync = true }
          @call_count = count
          wait_for(Array.new(count) { |index| process { calls.syswrite("x") && yield(index) } })
          calls.close!
          assert_empty notes.grep(/\Afailed/)
        end

        # Waits, in a block of {#in_processes}, until all of them have called.
        def others_call = eventually("others call") { File.size(@calls.path) == @call_count }

        # @yieldreturn [Boolean] the condition
        def eventually(message = "what was expected", &) = wait_until(message, within: PATIENCE, &)

        def wait_for(pids)
          pids.each { |pid| Process.wait(pid) }
          @pids -= pids
        end

        # Runs the block in `count` concurrent processes if they share the cache, otherwise in threads.
        def in_callers(count, &)
          return in_processes(count, &) if across_processes? && Process.respond_to?(:fork)
          diary
          in_threads(count, &)
        end

        def end_process(pid)
          @pids -= [pid]
          Process.kill(:KILL, pid)
          Process.wait(pid)
        rescue Errno::ESRCH, Errno::ECHILD
          nil
        end
      end
    end
  end
end
