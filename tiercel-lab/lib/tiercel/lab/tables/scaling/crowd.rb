# frozen_string_literal: true

module Tiercel
  module Lab
    # How throughput grows with processes.
    module Tables
      module Scaling
        # Processes that do the same work at the same time, each on a CPU of its
        # own where there are enough, and say how much of it they did.
        class Crowd
          # Calls between two looks at the clock.
          CHUNK = 256

          # @param cpus [Array<Integer>] that may be used
          # @param seconds [Float] that each process works
          def initialize(cpus:, seconds:)
            @cpus = cpus
            @seconds = seconds
          end

          # @param count [Integer] processes
          # @yieldparam index [Integer] of the process, from 0
          # @yieldreturn [Proc] one call of the work; made in the process, untimed
          # @return [Float] calls a second of wall clock, all processes together
          def run(count, &)
            gate_reader, gate = IO.pipe
            members = Array.new(count) { |index| start(index, gate_reader, gate, &) }
            gate_reader.close
            members.each { |_pid, answers| answers.gets } # each is ready
            gate.close
            members.sum { |pid, answers| answer_of(pid, answers) }
          end

          private

          def start(index, gate_reader, gate)
            answers, answer = IO.pipe
            pid = fork do
              gate.close
              answers.close
              move_to(@cpus[index % @cpus.size])
              work = yield index
              CHUNK.times { work.call }
              answer.puts "ready"
              gate_reader.read
              answer.puts rate_of(work)
              answer.close
              exit!(0)
            end
            answer.close
            [pid, answers]
          end

          def answer_of(pid, answers)
            rate = answers.gets
            Process.wait(pid)
            answers.close
            rate ? Float(rate) : raise(CannotRun, "a process of the crowd died")
          end

          def rate_of(work)
            calls = 0
            started = now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
            while now - started < @seconds
              CHUNK.times { work.call }
              calls += CHUNK
              now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
            end
            calls / (now - started)
          end

          def move_to(cpu)
            system("taskset", "--pid", "--cpu-list", cpu.to_s, Process.pid.to_s, out: File::NULL, err: File::NULL)
          rescue Errno::ENOENT
            nil
          end
        end
      end
    end
  end
end
