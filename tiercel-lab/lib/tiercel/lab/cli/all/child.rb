# frozen_string_literal: true

require "fileutils"
require "rbconfig"
require_relative "../../engine"
require_relative "../progress"
require_relative "part"

module Tiercel
  module Lab
    module CLI
      module All
        # Runs one table's command in a process of its own. A table that fails or fills the memory does not affect the
        # others. The process has its own process group: Ctrl-C and SIGTERM reach the parent alone, which then stops the
        # process once.
        class Child
          EXECUTABLE = File.expand_path("../../../../../exe/tiercel-lab", __dir__)
          # Seconds between lines of progress.
          PROGRESS = "1"
          # Time to end after a signal: a table summarizes, renders, and stops its servers.
          GRACE_SECONDS = 30
          # The number of last error lines that are kept.
          TAIL = 4

          # @param entry [Entry]
          # @param more [Array<String>] options for all tables, as on the command line
          # @param hidden [Array<String>] internal options
          # @param folder [String] folder of the results
          # @param limit [Numeric, nil] seconds until it is stopped
          def initialize(entry, more:, folder:, hidden: [], limit: nil)
            @entry = entry
            @arguments = [*entry.arguments, *more]
            @hidden = hidden
            @folder = folder
            @limit = limit
            @tail = []
          end

          # @yieldparam line [String] a line of progress
          # @return [Part]
          def run(&on_line)
            @started = now
            status = follow(&on_line)
            part(status, newest_results)
          end

          private

          def follow(&on_line)
            reader, writer = IO.pipe
            command = [RbConfig.ruby, EXECUTABLE, @entry.name, *@arguments, *@hidden, "--results", @folder]
            @pid = Process.spawn({ Progress::PLAIN_VARIABLE => PROGRESS }, *command, in: File::NULL,
                                 out: File::NULL, err: writer, pgroup: true)
            writer.close
            read(reader, &on_line)
            @status
          ensure
            reader&.close
            abandon
          end

          # Reads until the process ends. The end of the pipe may come later, because the process' children hold it too.
          def read(reader, &on_line)
            until ended?
              wait(reader, &on_line)
              stop("out of time") if !@stopped && @limit && now - @started > @limit
              kill if @stopped && now - @stopped > GRACE_SECONDS
            end
            take(reader, &on_line)
          rescue SignalException
            stop("interrupted")
            retry
          end

          def wait(reader, &)
            reader.wait_readable(0.1) ? take(reader, &) : nil
            sleep 0.05 if @closed
          end

          def take(reader)
            (@rest ||= +"") << reader.read_nonblock(65_536)
            while (line = @rest.slice!(/\A[^\n]*\n/))
              line = line.scrub.strip
              next if line.empty?
              @tail = [*@tail, line].last(TAIL)
              yield line if block_given?
            end
          rescue IO::WaitReadable
            nil
          rescue EOFError
            @closed = true
          end

          def ended? = @status ? true : (_pid, @status = Process.wait2(@pid, Process::WNOHANG)) && !@status.nil?

          # A second Ctrl-C kills the process.
          def stop(why)
            return kill if @stopped
            @why = why
            @stopped = now
            Process.kill(:INT, @pid)
          rescue Errno::ESRCH
            nil # it has ended by itself
          end

          def kill
            Process.kill(:KILL, -@pid)
          rescue Errno::ESRCH
            nil
          end

          # Ends the process if an error ends the parent.
          def abandon
            return if @pid.nil? || @status
            Process.kill(:TERM, @pid)
            Process.wait(@pid)
          rescue SystemCallError
            nil
          end

          def part(status, results)
            state, note = outcome(status, results)
            Part.new(name: @entry.name, arguments: @arguments, state:, code: status&.exitstatus, note:, results:,
                     seconds: (now - @started).round(1))
          end

          def outcome(status, results)
            return [@why, @why == "out of time" ? "stopped after #{@limit.round} s" : "interrupted"] if @why
            return ["complete", nil] if results && results["complete"] && [0, 1, 3, 4].include?(status.exitstatus)
            ended = status.signaled? ? "ended by signal #{status.termsig}" : "exit code #{status.exitstatus}"
            ["failed", [ended, *@tail].join("; ")]
          end

          # Also reads the results of an interrupted run, whose lines were written during the run.
          def newest_results
            path = Dir[File.join(@folder, "*.jsonl")].max_by { |file| File.mtime(file) }
            path && Engine::Results.load(path)
          rescue UsageError
            nil
          end

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        end
      end
    end
  end
end
