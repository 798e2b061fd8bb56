# frozen_string_literal: true

module Tiercel::Lab
  # Tables in which several processes use a store at the same time share these parts: {Fleet} starts the processes and
  # sends them calls, {Client} holds the stores of a process, {Pages} asks an application.
  module Load
    Tiercel::Lab.declare self, "load/fleet" => %i[Client Fleet Trial], "load/pages" => %i[Application Pages PumaServer]

    # A thread spins for this time, because a sleep may end half a millisecond late.
    SPIN_SECONDS = 0.0006

    module_function

    # @return [Float] monotonic seconds; the clock is the same in every process
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # Sleeps, then spins.
    #
    # @return [Float] seconds by which it is late
    def wait_until(due)
      while (left = due - now).positive?
        sleep(left - SPIN_SECONDS) if left > SPIN_SECONDS
      end
      -left
    end

    # @yieldparam thread [Integer]
    # @return [Array<Object>] the blocks' values
    def in_threads(count)
      Array.new(count) do |thread|
        Thread.new do
          Thread.current.report_on_exception = false # the value raises it
          yield thread
        end
      end.map(&:value)
    end
  end
end
