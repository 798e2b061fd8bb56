# frozen_string_literal: true

module TestRunner
  # A process with a time limit, in its own process group. When it ends, the whole group is killed.
  class ChildProcess
    # Seconds that a terminated process has for its last output (Ruby prints a backtrace).
    GRACE_SECONDS = 10

    # @param command [Array<String>]
    # @param environment [Hash{String => String, nil}]
    # @param options options of Process.spawn
    # @param seconds [Numeric] the time limit
    # @return [Process::Status, nil] nil if the time limit ended it
    def self.run(command, environment: {}, seconds:, **options)
      new(Process.spawn(environment, *command, in: File::NULL, pgroup: true, **options)).wait(seconds)
    end

    # @param status [Process::Status, nil] the result of {.run}
    # @return [String] how the process ended
    def self.describe(status)
      return "took too long" unless status
      status.signaled? ? "signal #{Signal.signame(status.termsig)}" : "exit status #{status.exitstatus}"
    end

    def initialize(pid)
      @pid = pid
    end

    # @return [Process::Status, nil]
    def wait(seconds)
      status = end_within(seconds)
      return status if status
      signal_group(:TERM)
      end_within(GRACE_SECONDS) || signal_group(:KILL)
      nil
    ensure
      signal_group(:KILL)
    end

    private

    def end_within(seconds)
      deadline = now + seconds
      until (finished = Process.wait2(@pid, Process::WNOHANG))
        return nil if now > deadline
        sleep 0.01
      end
      finished.last
    end

    # Signals the process and its children, also when the runner is interrupted.
    def signal_group(name)
      Process.kill(name, -@pid)
    rescue Errno::ESRCH
      nil
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
